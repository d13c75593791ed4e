"""Tests of run_servers.py: python3 -m unittest tests/interop/test_servers.py."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import run_servers
from run_clients import HERE, Peer

PEERS: list[Peer] = json.loads((HERE / "peers.json").read_text("utf-8"))


class WithAScript(unittest.TestCase):
    """`all_against` with a client that is a script."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.client = Path(folder.name) / "client"

    def client_is(self, script: str) -> None:
        self.client.write_text(f"#!{sys.executable}\n{script}\n", "utf-8")
        self.client.chmod(0o755)

    def outcome(self, *cannots: dict[str, str], capture: str | None = None) -> tuple[tuple[int, int, int], str]:
        servers: list[Peer] = [
            {"name": f"peer{n}", "version": "1", "server": ["server"], "env": {"A": "b"}, "cannot": cannot}
            for n, cannot in enumerate(cannots)
        ]
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            return run_servers.all_against(servers, self.client, capture, False), said.getvalue()

    def counts(self, output: str, code: int, *cannots: dict[str, str]) -> tuple[int, int, int]:
        self.client_is(f"import sys; print({output!r}); sys.exit({code})")
        return self.outcome(*cannots)[0]

    def test_a_failed_check_fails(self) -> None:
        self.assertEqual(self.counts("ok 1 - a\nnot ok 2 - b: no\n1..2", 1, {}), (1, 1, 0))

    def test_what_a_server_is_known_for_is_its_own_affair(self) -> None:
        self.assertEqual(self.counts("ok 1 - a\nnot ok 2 - b: no\n1..2", 1, {"b": "known"}, {}), (2, 1, 1))

    def test_a_known_failure_that_is_gone_fails(self) -> None:
        self.assertEqual(self.counts("ok 1 - a\n1..1", 0, {"a": "known"}), (1, 1, 0))

    def test_an_exit_code_that_does_not_fit_fails(self) -> None:
        self.assertEqual(self.counts("ok 1 - a\n1..1", 1, {}), (1, 1, 0))

    def test_a_client_that_breaks_off_fails(self) -> None:
        self.assertEqual(self.counts("ok 1 - a", 0, {}), (1, 1, 0))

    def test_a_client_that_is_not_there_fails(self) -> None:
        self.assertEqual(self.outcome({})[0], (0, 1, 0))

    def test_the_client_gets_the_servers_command_and_the_folder_of_the_recording(self) -> None:
        self.client_is(
            "import os, sys; print('not ok 1 - a:', sys.argv[1:], os.environ['MCP_TEST_TAP']); print('1..1'); sys.exit(1)"
        )
        counts, said = self.outcome({}, capture="some/folder")
        self.assertEqual(counts, (0, 1, 0))
        self.assertIn("['--', 'env', 'A=b', 'server']", said)
        self.assertIn(str(Path("some/folder").resolve()), said)


class OurClient(unittest.TestCase):
    def test_it_makes_the_same_checks_as_the_peers(self) -> None:
        names = r'^    "([a-z_.]+)" => '
        ours = re.findall(names, (HERE / "ours/src/checks/mod.rs").read_text("utf-8"), re.MULTILINE)
        theirs = re.findall(names, (HERE / "peers/rmcp3/src/client/checks/mod.rs").read_text("utf-8"), re.MULTILINE)
        self.assertEqual(ours, [*theirs, "session.close"])
        self.assertEqual({check for peer in PEERS for check in peer["cannot"]} - set(ours), set())

    def test_none_passes_without_a_server(self) -> None:
        program = run_servers.build()
        if program is None:
            if os.environ.get("CI") == "true":
                self.fail("the client cannot be built")
            self.skipTest("the client cannot be built")
        for server in ([sys.executable, "-c", "pass"], ["no-such-program"]):
            with self.subTest(server):
                done = subprocess.run([program, "--", *server], capture_output=True, text=True, timeout=60, check=False)
                lines = done.stdout.splitlines()
                self.assertEqual(done.returncode, 1)
                self.assertEqual(lines[-1], f"1..{len(lines) - 1}")
                self.assertEqual([line for line in lines[:-1] if not line.startswith("not ok ")], [])


if __name__ == "__main__":
    unittest.main()
