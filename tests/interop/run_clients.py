#!/usr/bin/env python3
"""Runs the peers' clients against a server: run_clients.py [options]

By default the server is the project's own Rust fixture. Each client makes the same checks and prints one line for each
(`ok`, `not ok` with the reason, or `# SKIP` with the reason); here they become one table. Exit code 0 if no check
failed, 1 if one did, 2 if a peer is not installed (tests/interop/setup installs them) or the call is wrong. A peer that
is not installed is left out with the reason; when CI=true that is a failure.

  --server 'CMD'   the server's command line, split at blanks as a shell does it
  --peers-servers  not our server but those of the peers, each with each; what peers.json lists under `cannot` for a
                   server is shown with its reason and is no failure, unless no client meets it any more
  --peer NAME      only this peer's client; may be given again
  --capture DIR    write all traffic to DIR, one file for each run, for tests/checks/schema_traffic.py
  --verbose        show each client's output as it is
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OUR_SERVER = "tests/fixtures/run server rust stdio"
REVISION = "2024-11-05"
# The SDKs' clients start a server with few variables of their own environment; these tell tests/fixtures/run its program.
FORWARDED = ("CARGO_TARGET_DIR", "MCP_FIXTURE", "MCP_FIXTURES_RUST")
LIMIT_S = 300
LINE = re.compile(r"(?P<not>not )?ok \d+ - (?P<name>[a-z_.]+)(?:: (?P<why>.*)| # SKIP (?P<skip>.*))?")

Peer = dict[str, Any]


@dataclass
class Run:
    """One client against one server."""

    client: str
    server: str
    failed: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    passed: list[str] = field(default_factory=list)
    order: list[str] = field(default_factory=list)  # all checks, as the client made them
    broken: str = ""  # why the run as a whole tells nothing
    stderr: str = ""

    def read(self, output: str) -> None:
        """Takes in a client's output, which must hold as many checks as its plan says."""
        lines = output.splitlines()
        for line in lines:
            if (match := LINE.fullmatch(line)) is None:
                continue
            self.order.append(match["name"])
            if match["not"]:
                self.failed[match["name"]] = match["why"] or "no reason given"
            elif match["skip"]:
                self.skipped[match["name"]] = match["skip"]
            else:
                self.passed.append(match["name"])
        done = len(self.order)
        if not lines or lines[-1] != f"1..{done}" or done == 0:
            self.broken = f"the client broke off after {done} checks"

    def mark(self, check: str, cannot: dict[str, str]) -> str:
        if check in self.failed:
            return "cannot" if check in cannot else "FAIL"
        if check in self.skipped:
            return "skip"
        return "ok" if check in self.passed else "-"


def resolved(argv: list[str]) -> list[str]:
    """The command line with a program inside the project as an absolute path."""
    inside = ROOT / argv[0]
    return [str(inside) if inside.exists() else argv[0], *argv[1:]]


def why_missing(argv: list[str]) -> str | None:
    program = resolved(argv)[0]
    return None if shutil.which(program) else f"{argv[0]} is not there; run tests/interop/setup"


def run_client(
    peer: Peer, server_name: str, server: list[str], env: dict[str, str], options: argparse.Namespace
) -> Run:
    run = Run(peer["name"], server_name)
    relay: list[str] = ["--offer", REVISION] if options.peers_servers else []
    if options.capture:
        session = f"{peer['name']}-{server_name}"
        relay += ["--capture", str(Path(options.capture).resolve() / f"{session}.jsonl"), "--session", session]
    if relay:
        server = [sys.executable, str(HERE / "relay.py"), *relay, "--", *server]
    argv = [*resolved(peer["client"]), "--", *server]
    try:
        done = subprocess.run(
            argv, cwd=ROOT, env=os.environ | env, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        run.broken = f"the client did not end within {LIMIT_S} s"
        return run
    if options.verbose:
        print(f"# {shlex.join(argv)}\n{done.stdout}", end="", flush=True)
    run.read(done.stdout)
    run.stderr = done.stderr
    if not run.broken and (done.returncode == 0) != (not run.failed):
        run.broken = f"exit code {done.returncode} with {len(run.failed)} failed checks"
    return run


def table(runs: list[Run], cannot: dict[str, str]) -> None:
    """Checks down, clients across."""
    checks = list(dict.fromkeys(check for run in runs for check in run.order))
    width = max([len(check) for check in checks], default=0)
    print(" " * width + "".join(f"  {run.client:>7}" for run in runs))
    for check in checks:
        print(f"{check:<{width}}" + "".join(f"  {run.mark(check, cannot):>7}" for run in runs))


def explain(runs: list[Run], cannot: dict[str, str]) -> None:
    """The reasons behind all that is not `ok` in the table."""
    for run in runs:
        same: dict[str, list[str]] = {}  # a session that never came about fails all checks for one reason
        for check, why in run.failed.items():
            if check not in cannot:
                same.setdefault(why, []).append(check)
        for why, checks in same.items():
            more = f" and {len(checks) - 1} more" if len(checks) > 1 else ""
            print(f"FAIL {run.client}, {checks[0]}{more}: {why}")
        for check, why in run.skipped.items():
            print(f"skip {run.client}, {check}: {why}")
        if run.broken:
            print(f"FAIL {run.client}: {run.broken}")
        if run.broken or set(run.failed) - set(cannot):
            print("".join(f"     {line}\n" for line in run.stderr.splitlines()[-20:]), end="")
    for check, why in cannot.items():
        print(f"cannot, {check}: {why}")


def against(server: Peer, clients: list[Peer], options: argparse.Namespace) -> tuple[int, int, int]:
    """Runs the clients against one server; gives the numbers of passed, failed and skipped checks."""
    print(f"\n== server {server['name']} {server['version']}: {shlex.join(server['server'])}", flush=True)
    runs = [
        run_client(client, server["name"], resolved(server["server"]), server["env"], options) for client in clients
    ]
    cannot: dict[str, str] = server["cannot"]
    table(runs, cannot)
    explain(runs, cannot)
    stale = [check for check in cannot if all(check in run.passed for run in runs)]
    for check in stale:
        print(f"FAIL `cannot` of {server['name']} lists {check}, which no client finds wrong; take it out")
    skipped = sum(len(run.skipped) + len(set(run.failed) & set(cannot)) for run in runs)
    failed = sum(len(set(run.failed) - set(cannot)) + bool(run.broken) for run in runs) + len(stale)
    return sum(len(run.passed) for run in runs), failed, skipped


def main() -> int:
    parser = argparse.ArgumentParser(description="runs the peers' clients against a server")
    parser.add_argument("--server", default=OUR_SERVER, metavar="CMD")
    parser.add_argument("--peers-servers", action="store_true")
    parser.add_argument("--peer", action="append", metavar="NAME")
    parser.add_argument("--capture", metavar="DIR")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    peers: list[Peer] = json.loads((HERE / "peers.json").read_text("utf-8"))
    if unknown := set(options.peer or []) - {peer["name"] for peer in peers}:
        parser.error(f"there is no peer {', '.join(sorted(unknown))}")
    if options.capture:
        Path(options.capture).mkdir(parents=True, exist_ok=True)

    left_out = {peer["name"]: why for peer in peers if (why := why_missing(peer["client"]))}
    for name, why in left_out.items():
        print(f"left out {name}: {why}", file=sys.stderr)
    here = [peer for peer in peers if peer["name"] not in left_out]
    clients = [peer for peer in here if not options.peer or peer["name"] in options.peer]
    if not clients or (left_out and os.environ.get("CI") == "true"):
        return 2
    forwarded = [f"{name}={os.environ[name]}" for name in FORWARDED if name in os.environ]
    command = (["env", *forwarded] if forwarded else []) + shlex.split(options.server)
    ours: Peer = {"name": "ours", "version": "", "server": command, "env": {}, "cannot": {}}
    passed = failed = skipped = 0
    for server in here if options.peers_servers else [ours]:
        counts = against(server, clients, options)
        passed, failed, skipped = (a + b for a, b in zip((passed, failed, skipped), counts, strict=True))
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
