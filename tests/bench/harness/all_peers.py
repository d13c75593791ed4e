"""`run.py peers`: every test of every SDK, in interleaved passes, until each has enough undisturbed runs."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from .build import say
from .measure import CLEAN, MeasureError, Patience, Peer, run_driver
from .sdks import is_variant

SUITES = ("stdio", "client", "sse", "sse_idle", "grow")

STDIO = (  # one pass: flags of the driver, and whether the variants take part
    (
        (
            "--pin",
            "1",
            "--tests",
            "seq,pipe",
            "--calls",
            "3000",
            "--pipe",
            "1000",
            "--min-secs",
            "3",
        ),
        True,
    ),
    (("--tests", "startup", "--startups", "5"), False),
    (("--tests", "idle,seq", "--calls", "5000"), False),
    (("--tests", "pipe", "--pipe", "1000", "--min-secs", "5"), False),
    (("--tests", "big,list", "--big-calls", "20", "--list-calls", "30"), False),
)
CLIENT = (
    (("--startups", "4"), True),
    (("--tests", "calls", "--pin", "1", "--calls", "3000", "--total", "9600"), True),
)
SSE = (
    (
        ("--sessions", "50", "--pin", "1", "--secs", "5", "--warm", "1", "--idle", "0"),
        True,
    ),
    (("--sessions", "1", "--secs", "5", "--warm", "1", "--idle", "0"), False),
    (("--sessions", "50", "--secs", "5", "--warm", "1", "--idle", "0"), False),
    (("--sessions", "200", "--secs", "5", "--warm", "1", "--idle", "0"), False),
)
# Slow and steady: once is enough.
SSE_IDLE = (
    (("--sessions", "1", "--secs", "0.2", "--warm", "0", "--idle", "500"), True),
)
GROW = ((("--tests", "grow", "--grow", "100000"), False),)

Job = tuple[Peer, tuple[str, ...], int]
"""What to run, with which flags, and how many undisturbed runs are wanted."""


def one_pass(peers: list[Peer], suites: list[str], rounds: int) -> Iterator[Job]:
    plan = (
        ("stdio", "stdio", STDIO, rounds),
        ("client", "client", CLIENT, rounds),
        ("sse", "sse", SSE, rounds),
        ("sse_idle", "sse", SSE_IDLE, 1),
        ("grow", "stdio", GROW, 1),
    )
    for suite, kind, tests, wanted in plan:
        if suite in suites:
            for flags, with_variants in tests:
                for peer in peers:
                    if peer.kind == kind and (with_variants or not is_variant(peer)):
                        yield peer, flags, wanted


def measure(
    driver: str,
    peers: list[Peer],
    suites: list[str],
    rounds: int,
    minutes: float,
    results: Path,
) -> None:
    """Appends to `results`. Each pass leaves out what has enough; `minutes` end it in any case."""
    end = time.monotonic() + 60 * minutes
    clean: Counter[tuple[Peer, tuple[str, ...]]] = Counter()
    port, number = 20_000, 0
    results.parent.mkdir(parents=True, exist_ok=True)
    with results.open("a") as out:
        while time.monotonic() < end:
            number += 1
            open_jobs = [
                (p, f)
                for p, f, wanted in one_pass(peers, suites, rounds)
                if clean[p, f] < wanted
            ]
            if not open_jobs:
                return
            say(f"pass {number}: {len(open_jobs)} runs")
            for peer, flags in open_jobs:
                if time.monotonic() >= end:
                    break
                Patience(5).wait()
                # A port that an earlier run used may still be in TIME_WAIT.
                port = port + 3 if port < 29_000 else 20_000
                extra = ["--port", str(port)] if peer.kind == "sse" else []
                try:
                    rows = run_driver(driver, peer, ["--reps", "1", *flags, *extra])
                except MeasureError as fault:
                    say(f"FAILED: {fault}")
                    out.write(
                        json.dumps(
                            {
                                "suite": peer.kind,
                                "peer": peer.name,
                                "test": "failed",
                                "fault": str(fault),
                            }
                        )
                        + "\n"
                    )
                    continue
                for row in rows:
                    if flags in [f for f, _ in SSE_IDLE] and row["test"] == "sse":
                        continue  # it is only there on the way to the idle test
                    out.write(json.dumps(row) + "\n")
                out.flush()
                other = max(row["other_cores"] for row in rows)
                clean[peer, flags] += other < CLEAN
                say(
                    f"{peer.name:20} {peer.kind} {' '.join(flags)}: others used {other} CPUs"
                )
