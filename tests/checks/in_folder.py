"""What tests share that write files."""
import contextlib
import io
import pathlib
import tempfile
import unittest
from typing import Any


class Folder(unittest.TestCase):
    """Tests that write files."""

    def setUp(self) -> None:
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def printed(self, main: Any, *argv: str) -> tuple[int, str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = main(list(argv))
        return code, out.getvalue()
