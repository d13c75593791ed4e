"""`run.py rust`: ours beside rmcp and the minimal programs, everything on one CPU, in interleaved passes."""

import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from . import build
from .measure import MeasureError, Patience, Peer, Row, run_driver

FLOOR, BATCH, RMCP, RMCP_1THREAD, OURS = (
    "floor",
    "floor-batch",
    "rmcp",
    "rmcp-1thread",
    "ours",
)


@dataclass(frozen=True)
class Plan:
    """How much is measured. Each pass runs each of `server` and `client` once for each program."""

    passes: int
    server: tuple[tuple[str, ...], ...]
    client: tuple[tuple[str, ...], ...]
    grow: int
    """Calls of the memory test, which is run once for each program."""
    patience: float
    """Seconds, in all, to wait for other processes to be quiet."""


FULL = Plan(
    passes=5,
    server=(
        ("startup", "--startups", "8"),
        ("idle",),
        ("seq", "--calls", "20000"),
        ("pipe", "--pipe", "2000", "--min-secs", "1"),
        ("big", "--big-calls", "20"),
        ("list", "--list-calls", "50"),
    ),
    client=(
        ("first", "--startups", "8"),
        ("calls", "--calls", "20000", "--total", "51200"),
    ),
    grow=1_000_000,
    patience=40,
)
QUICK = Plan(
    passes=3,
    server=(
        ("startup", "--startups", "4"),
        ("idle",),
        ("seq", "--calls", "5000"),
        ("pipe", "--pipe", "1000", "--min-secs", "0.3"),
        ("big", "--big-calls", "8"),
        ("list", "--list-calls", "20"),
    ),
    client=(
        ("first", "--startups", "4"),
        ("calls", "--calls", "5000", "--total", "12800"),
    ),
    grow=200_000,
    patience=5,
)


def programs(
    driver: str, ours_server: str | None, ours_client: str | None
) -> list[Peer]:
    rmcp = build.cargo(build.BENCH / "rust-rmcp")
    one_thread = ("BENCH_RT=current",)
    peers = [
        Peer(FLOOR, "stdio", f"'{driver}' serve-floor"),
        Peer(BATCH, "stdio", f"'{driver}' serve-floor --batch"),
        Peer(RMCP, "stdio", f"'{rmcp['rmcp-server']}'"),
        Peer(RMCP_1THREAD, "stdio", f"'{rmcp['rmcp-server']}'", one_thread),
        Peer(FLOOR, "client", f"'{driver}' client-floor"),
        Peer(RMCP, "client", f"'{rmcp['rmcp-client']}'"),
        Peer(RMCP_1THREAD, "client", f"'{rmcp['rmcp-client']}'", one_thread),
    ]
    if ours_server:
        peers.append(Peer(OURS, "stdio", ours_server))
    if ours_client:
        peers.append(Peer(OURS, "client", ours_client))
    return peers


def ours(server: str | None, client: str | None) -> tuple[str | None, str | None]:
    """The commands of ours: those given; if none is, the two programs of the crate `ours`, which is then built."""
    if server or client:
        return server, client
    built = build.cargo(build.BENCH / "ours", "dist")
    missing = {"bench-server", "bench-client"} - built.keys()
    if missing:
        raise build.BuildError(
            f"the crate {build.BENCH / 'ours'} has no program named {' or '.join(sorted(missing))}"
        )
    return f"'{built['bench-server']}'", f"'{built['bench-client']}'"


def last_cpu() -> int:
    """The last of the CPUs that this process may use: the first one is where most interrupts go."""
    return max(os.sched_getaffinity(0))


def measure(
    driver: str, peers: list[Peer], plan: Plan, cpu: int, results: Path
) -> tuple[list[Row], list[str]]:
    """All rows, written to `results` as they come, and what failed. A program that failed once is left out from there
    on, so that the others are still measured side by side."""
    rows: list[Row] = []
    faults: list[str] = []
    patience, begun = Patience(plan.patience), time.monotonic()
    results.parent.mkdir(parents=True, exist_ok=True)
    with results.open("w") as out:
        for number, (peer, flags) in enumerate(schedule(peers, plan)):
            if any(fault.startswith(f"{peer.name} ({peer.kind} ") for fault in faults):
                continue
            if number % len(peers) == 0:
                patience.wait()
            try:
                new = run_driver(
                    driver, peer, ["--pin", str(cpu), "--reps", "1", "--tests", *flags]
                )
            except MeasureError as fault:
                faults.append(str(fault))
                build.say(f"FAILED: {fault}")
                continue
            rows += new
            out.writelines(json.dumps(row) + "\n" for row in new)
            out.flush()
    build.say(f"measured for {time.monotonic() - begun:.0f} s")
    return rows, faults


def schedule(peers: list[Peer], plan: Plan) -> Iterable[tuple[Peer, tuple[str, ...]]]:
    """The same test of all programs side by side, so that a busy spell hits all of them; then the next test."""
    by_kind = {"stdio": plan.server, "client": plan.client}
    for number in range(plan.passes):
        build.say(f"pass {number + 1} of {plan.passes}")
        for kind, tests in by_kind.items():
            for flags in tests:
                yield from ((peer, flags) for peer in peers if peer.kind == kind)
    build.say(f"memory over {plan.grow:,} calls")
    yield from (
        (peer, ("grow", "--grow", str(plan.grow)))
        for peer in peers
        if peer.name != RMCP_1THREAD
    )
