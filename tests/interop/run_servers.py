#!/usr/bin/env python3
"""Runs our client against the peers' servers: run_servers.py [options]

The client is tests/interop/ours; it makes the checks that the peers' clients make of our server, and here its lines
become one table. What peers.json lists under `cannot` for a server is shown with its reason and is no failure; an entry
that our client does not find wrong any more is one. Exit code 0 if no check failed, 1 if one did, 2 if a peer is not
installed (tests/interop/setup installs them), the client cannot be built, or the call is wrong. A peer that is not
installed is left out with the reason; when CI=true that is a failure.

  --server 'CMD'   only this server instead of the peers' ones; the command line is split at blanks as a shell does it
  --client FILE    the client's program; without it cargo builds it, in release mode
  --peer NAME      only this peer's server; may be given again
  --capture DIR    write what the client sends and receives to DIR, one file for each run, for
                   tests/checks/schema_traffic.py
  --verbose        show the client's output as it is
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from run_clients import FORWARDED, HERE, LIMIT_S, ROOT, Peer, Run, explain, resolved, why_missing

PACKAGE = "mcp-native-interop"
PROGRAM = "interop-client"


def build() -> Path | None:
    """Builds the client and gives its program; None when that fails, which cargo has explained."""
    command = ["cargo", "build", "--release", "--quiet", "--package", PACKAGE]
    try:
        done = subprocess.run(command, cwd=ROOT, check=False)
    except FileNotFoundError:
        print(
            "the client cannot be built: `cargo` is not on PATH; install Rust, see https://rustup.rs", file=sys.stderr
        )
        return None
    target = Path(os.environ.get("CARGO_TARGET_DIR", "target"))
    return None if done.returncode else ROOT / target / "release" / PROGRAM


def run_against(server: Peer, client: Path, capture: str | None, verbose: bool) -> Run:
    """Makes all checks of one server."""
    run = Run("ours", server["name"])
    # Our client gives a server few variables of its own environment, as one in the field does.
    variables = [f"{name}={value}" for name, value in server["env"].items()]
    command = [*(["env", *variables] if variables else []), *resolved(server["server"])]
    argv = [str(client), *server.get("our_options", []), "--", *command]
    env = dict(os.environ)
    if capture:
        env["MCP_TEST_TAP"] = str(Path(capture).resolve())
    try:
        done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        run.broken = f"the client did not end within {LIMIT_S} s"
        return run
    except OSError as error:
        run.broken = f"the client cannot be started: {error}"
        return run
    if verbose:
        print(f"# {shlex.join(argv)}\n{done.stdout}", end="", flush=True)
    run.read(done.stdout)
    run.stderr = done.stderr
    if not run.broken and (done.returncode == 0) != (not run.failed):
        run.broken = f"exit code {done.returncode} with {len(run.failed)} failed checks"
    return run


def table(servers: Sequence[Peer], runs: Sequence[Run]) -> None:
    """Checks down, servers across."""
    checks = list(dict.fromkeys(check for run in runs for check in run.order))
    width = max([len(check) for check in checks], default=0)
    print(" " * width + "".join(f"  {server['name']:>7}" for server in servers))
    for check in checks:
        marks = [run.mark(check, server["cannot"]) for server, run in zip(servers, runs, strict=True)]
        print(f"{check:<{width}}" + "".join(f"  {mark:>7}" for mark in marks))


def judge(server: Peer, run: Run) -> tuple[int, int, int]:
    """Explains all that is not `ok`; gives the numbers of passed, failed and known-wrong checks."""
    cannot: dict[str, str] = server["cannot"]
    print(f"\n== server {server['name']} {server['version']}: {shlex.join(server['server'])}")
    explain([run], cannot)
    stale = [check for check in cannot if check in run.passed]
    for check in stale:
        print(f"FAIL `cannot` of {server['name']} lists {check}, which our client does not find wrong; take it out")
    known = set(run.failed) & set(cannot)
    return len(run.passed), len(run.failed) - len(known) + bool(run.broken) + len(stale), len(known)


def all_against(servers: Sequence[Peer], client: Path, capture: str | None, verbose: bool) -> tuple[int, int, int]:
    """Runs the client against each server, prints the table and the reasons; gives the sums of what `judge` counts."""
    runs = [run_against(server, client, capture, verbose) for server in servers]
    table(servers, runs)
    counts = [judge(server, run) for server, run in zip(servers, runs, strict=True)]
    passed, failed, known = (sum(column) for column in zip(*counts, strict=True))
    return passed, failed, known


def main() -> int:
    parser = argparse.ArgumentParser(description="runs our client against the peers' servers")
    parser.add_argument("--server", metavar="CMD")
    parser.add_argument("--client", type=Path, metavar="FILE")
    parser.add_argument("--peer", action="append", metavar="NAME")
    parser.add_argument("--capture", metavar="DIR")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    peers: list[Peer] = json.loads((HERE / "peers.json").read_text("utf-8"))
    if unknown := set(options.peer or []) - {peer["name"] for peer in peers}:
        parser.error(f"there is no peer {', '.join(sorted(unknown))}")
    if options.capture:
        Path(options.capture).mkdir(parents=True, exist_ok=True)

    if options.server:
        env = {name: os.environ[name] for name in FORWARDED if name in os.environ}
        command = shlex.split(options.server)
        peers = [{"name": "given", "version": "", "server": command, "env": env, "cannot": {}}]
    left_out = {peer["name"]: why for peer in peers if (why := why_missing(peer["server"]))}
    for name, why in left_out.items():
        print(f"left out {name}: {why}", file=sys.stderr)
    servers = [peer for peer in peers if peer["name"] not in left_out]
    if options.peer and not options.server:
        servers = [server for server in servers if server["name"] in options.peer]
    if not servers or (left_out and os.environ.get("CI") == "true"):
        return 2
    client: Path | None = options.client.resolve() if options.client else build()
    if client is None:
        return 2
    passed, failed, known = all_against(servers, client, options.capture, options.verbose)
    print(f"\n{passed} passed, {failed} failed, {known} that the server cannot")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
