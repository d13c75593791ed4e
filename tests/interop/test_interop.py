"""Tests of the interop tests themselves: python3 -m unittest tests/interop/test_interop.py."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import run_clients
from run_clients import HERE, Run

PEERS: list[dict[str, Any]] = json.loads((HERE / "peers.json").read_text("utf-8"))

# A stand-in for a server: answers each line with what it got, and leaves with code 3 at the end of its input.
ECHO = "import sys\nfor line in sys.stdin:\n print(line, end='', flush=True)\nsys.exit(3)"


def relay(lines: list[str], *options: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, str(HERE / "relay.py"), *options, "--", sys.executable, "-c", ECHO]
    return subprocess.run(argv, input="".join(lines), capture_output=True, text=True, timeout=30, check=False)


class Relay(unittest.TestCase):
    INITIALIZE = '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","x":"ü"}}\n'
    OTHER = '{"jsonrpc":"2.0","id":1.50,"method":"ping","params":{"initialize":"\\u00fc"}}\n'

    def test_passes_all_on_unchanged(self) -> None:
        done = relay([self.INITIALIZE, self.OTHER, "no json\n"])
        self.assertEqual(done.stdout, self.INITIALIZE + self.OTHER + "no json\n")

    def test_gives_the_exit_code_of_the_server(self) -> None:
        self.assertEqual(relay([]).returncode, 3)

    def test_offer_changes_only_the_revision_of_initialize(self) -> None:
        done = relay([self.INITIALIZE, self.OTHER], "--offer", "2024-11-05")
        first, second = done.stdout.splitlines(keepends=True)
        wanted = json.loads(self.INITIALIZE)
        wanted["params"]["protocolVersion"] = "2024-11-05"
        self.assertEqual(json.loads(first), wanted)
        self.assertEqual(second, self.OTHER)

    def test_capture_holds_both_directions(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "capture.jsonl"
            relay([self.OTHER, "no json\n"], "--capture", str(file), "--session", "s")
            entries = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        for side, under_test in (("client", False), ("server", True)):
            mine = [entry for entry in entries if entry["from"] == side]
            wanted = {"from": side, "under_test": under_test, "revision": "2024-11-05", "session": "s"}
            self.assertEqual(mine, [wanted | {"message": json.loads(self.OTHER)}, wanted | {"text": "no json"}])


class ReadingAClient(unittest.TestCase):
    def read(self, output: str) -> Run:
        run = Run("client", "server")
        run.read(output)
        return run

    def test_takes_in_each_kind_of_line(self) -> None:
        run = self.read("ok 1 - a.b\nnot ok 2 - c: why: so\nok 3 - d # SKIP no such thing\n1..3\n")
        self.assertEqual(run.order, ["a.b", "c", "d"])
        self.assertEqual((run.passed, run.failed, run.skipped), (["a.b"], {"c": "why: so"}, {"d": "no such thing"}))
        self.assertEqual(run.broken, "")

    def test_a_client_that_breaks_off_is_no_success(self) -> None:
        for output in ("", "ok 1 - a\n", "ok 1 - a\n1..2\n", "1..0\n"):
            with self.subTest(output):
                self.assertIn("broke off", self.read(output).broken)


class CountingResults(unittest.TestCase):
    """`against` with a client that is a script which prints given lines."""

    def counts(self, cannot: dict[str, str], output: str, code: int) -> tuple[int, int, int]:
        script = f"import sys; print({output!r}); sys.exit({code})"
        client = {"name": "client", "client": [sys.executable, "-c", script]}
        server = {"name": "server", "version": "1", "server": ["server"], "env": {}, "cannot": cannot}
        options = argparse.Namespace(peers_servers=False, capture=None, verbose=False)
        with contextlib.redirect_stdout(io.StringIO()):
            return run_clients.against(server, [client], options)

    def test_a_failed_check_fails(self) -> None:
        self.assertEqual(self.counts({}, "ok 1 - a\nnot ok 2 - b: no\n1..2", 1), (1, 1, 0))

    def test_a_failure_that_the_server_is_known_for_is_skipped(self) -> None:
        self.assertEqual(self.counts({"b": "known"}, "ok 1 - a\nnot ok 2 - b: no\n1..2", 1), (1, 0, 1))

    def test_a_known_failure_that_is_gone_fails(self) -> None:
        self.assertEqual(self.counts({"b": "known"}, "ok 1 - a\nok 2 - b\n1..2", 0), (2, 1, 0))

    def test_an_exit_code_that_does_not_fit_fails(self) -> None:
        self.assertEqual(self.counts({}, "ok 1 - a\n1..1", 1), (1, 1, 0))


class Peers(unittest.TestCase):
    def test_versions_are_those_that_are_installed(self) -> None:
        versions = {peer["name"]: peer["version"] for peer in PEERS}
        for name in ("py1", "py2"):
            pins = (HERE / f"peers/{name}/requirements.txt").read_text("utf-8").split()
            self.assertIn(f"mcp=={versions[name]}", pins)
        node = json.loads((HERE / "peers/ts1/package.json").read_text("utf-8"))["dependencies"]
        self.assertEqual(versions["ts1"], node["@modelcontextprotocol/sdk"])
        self.assertIn(f'"={versions["rmcp3"]}"', (HERE / "peers/rmcp3/Cargo.toml").read_text("utf-8"))

    def test_no_lock_file_names_a_place_to_download_from(self) -> None:
        lock = json.loads((HERE / "peers/ts1/package-lock.json").read_text("utf-8"))
        self.assertEqual([name for name, package in lock["packages"].items() if "resolved" in package], [])

    def test_all_clients_make_the_same_checks_and_none_passes_without_a_server(self) -> None:
        orders: dict[str, list[str]] = {}
        options = argparse.Namespace(peers_servers=False, capture=None, verbose=False)
        for peer in PEERS:
            if why := run_clients.why_missing(peer["client"]):
                if os.environ.get("CI") == "true":
                    self.fail(why)
                print(f"peer {peer['name']} left out: {why}", file=sys.stderr)
                continue
            run = run_clients.run_client(peer, "none", [sys.executable, "-c", "pass"], {}, options)
            self.assertEqual((run.passed, run.broken), ([], ""), peer["name"])
            self.assertEqual(set(run.skipped), set(peer["client_cannot"]), peer["name"])
            orders[peer["name"]] = run.order
        for name, order in orders.items():
            self.assertEqual(order, next(iter(orders.values())), name)
        checks = set().union(*orders.values())
        for peer in PEERS if orders else []:
            self.assertLessEqual(set(peer["cannot"]), checks, f"`cannot` of {peer['name']} names an unknown check")


if __name__ == "__main__":
    unittest.main()
