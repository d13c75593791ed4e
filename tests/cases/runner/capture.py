"""Keeps what goes over the wire, for checks of all traffic: JSON lines in the folder that MCP_CASES_TRACE_DIR names."""
import json
import os
import pathlib
import time

from .http import SseParser
from .wire import Json, Message, parse

FOLDER = "MCP_CASES_TRACE_DIR"
REVISION = "2024-11-05"  # the only one that the cases negotiate
BOM = b"\xef\xbb\xbf"


class Capture:
    """The messages of one case. Without the environment variable it keeps nothing.

    One line is one message: {"from": "server" | "client", "under_test": bool, "revision", "session", "message"}. A session
    is one connection: request ids are unique within it. What the driver writes is kept so that a result can be matched
    with its request; the part of it that is no JSON object is left out, as it is meant to be bad. What the SDK under test
    writes is always kept: text that is no JSON stands under "text" in place of "message".
    """

    def __init__(self, case: Message) -> None:
        self.side: str = case["side"]
        self.driver_side = "client" if self.side == "server" else "server"
        self.session = f"{case['id']}-{os.getpid()}-{time.time_ns()}"
        self.file = None
        self.buffer = b""
        self.events = SseParser()
        if folder := os.environ.get(FOLDER):
            pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
            path = pathlib.Path(folder, f"{case['side']}-{case['transport']}-{case['id']}.jsonl")
            self.file = path.open("a", encoding="utf-8")

    def received(self, message: Json, part: str = "") -> None:
        """A message that the SDK under test wrote; `part` tells the sessions of one case apart."""
        self._keep(True, {"message": message}, part)

    def received_bad(self, data: bytes, part: str = "") -> None:
        """Bytes that the SDK under test wrote in place of a message."""
        self._keep(True, {"text": data.decode("utf-8", "backslashreplace")}, part)

    def wrote(self, data: bytes, part: str = "") -> None:
        """One whole message of the driver, if it is one."""
        if self.file is None:
            return
        try:
            message = parse(data.removeprefix(BOM))
        except ValueError:
            return
        if isinstance(message, dict):
            self._keep(False, {"message": message}, part)

    def wrote_lines(self, data: bytes) -> None:
        """Bytes of the driver on stdio, cut anywhere."""
        if self.file is None:
            return
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        for line in lines:
            self.wrote(line)

    def wrote_last_line(self) -> None:
        """The driver's output is over: what it left unfinished counts as a line."""
        self.wrote_lines(b"\n")

    def wrote_events(self, data: bytes) -> None:
        """Bytes of the driver on an event stream, cut anywhere."""
        if self.file is None:
            return
        for event, text in self.events.feed(data):
            if event == "message":
                self.wrote(text.encode(errors="replace"))

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None

    def _keep(self, under_test: bool, what: Message, part: str) -> None:
        if self.file is None:
            return
        line = {
            "from": self.side if under_test else self.driver_side, "under_test": under_test, "revision": REVISION,
            "session": self.session + part,
        }
        try:
            text = json.dumps(line | what, separators=(",", ":"))  # ASCII: lone surrogates stay escapes
        except RecursionError:
            if not under_test:
                return  # nested on purpose
            text = json.dumps(line | {"text": "(a message nested too deeply for the runner)"})
        self.file.write(text + "\n")
        self.file.flush()
