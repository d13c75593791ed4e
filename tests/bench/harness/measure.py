"""One run of the driver, and how quiet the machine was meanwhile."""

import json
import os
import resource
import statistics
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
"""One line of results: what the driver printed, and suite, time and other_cores."""

CLEAN = 0.25
"""Below so many CPUs used by other processes, a run counts as undisturbed."""


@dataclass(frozen=True)
class Peer:
    """A program to measure. `kind` is a mode of the driver: stdio, client or sse."""

    name: str
    kind: str
    command: str
    env: tuple[str, ...] = ()


class MeasureError(Exception):
    """The driver gave no figures; the text says for which program and why."""


def run_driver(driver: str, peer: Peer, flags: list[str]) -> list[Row]:
    """Runs the driver on one program. The driver takes the variables out of its environment that a workplace sets and
    a host does not."""
    command = [driver, peer.kind, "--name", peer.name, "--cmd", peer.command, *flags]
    for pair in peer.env:
        command += ["--env", pair]
    begun, busy, own = time.monotonic(), busy_seconds(), own_seconds()
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    took = max(time.monotonic() - begun, 0.05)
    other = ((busy_seconds() - busy) - (own_seconds() - own)) / took
    if done.returncode:
        raise MeasureError(
            f"{peer.name} ({peer.kind} {' '.join(flags)}): {done.stderr.strip() or done.returncode}"
        )
    rows: list[Row] = [json.loads(line) for line in done.stdout.splitlines()]
    for row in rows:
        row |= {
            "suite": peer.kind,
            "at": round(time.time()),
            "other_cores": round(max(0.0, other), 3),
        }
    return rows


def busy_seconds() -> float:
    """CPU time of the whole machine since it was started, all CPUs together."""
    with open("/proc/stat") as stat:
        ticks = [int(n) for n in stat.readline().split()[1:9]]
    idle, waiting = ticks[3], ticks[4]
    return (sum(ticks) - idle - waiting) / os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    """CPU time of what was started from here and has ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Patience:
    """Waits for the machine to be quiet, `seconds` in all at most."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    def wait(self) -> None:
        step = 0.2
        while self.left > 0:
            before = busy_seconds()
            time.sleep(step)
            if busy_seconds() - before < 0.2 * step:
                return
            self.left -= step


def quietest(rows: Iterable[Row], least: int = 3) -> list[Row]:
    """The runs to go by: all undisturbed ones; if there are fewer than `least` of them, the `least` with the least
    disturbance. The choice looks at other processes only, never at the figures."""
    ordered = sorted(rows, key=lambda row: float(row["other_cores"]))
    clean = [row for row in ordered if row["other_cores"] < CLEAN]
    return clean if len(clean) >= least else ordered[:least]


def disturbed(rows: Iterable[Row]) -> bool:
    return any(row["other_cores"] >= CLEAN for row in rows)


def value(row: Row, key: str) -> float | None:
    """One figure of one run: the median, where the driver gives a spread."""
    figure = row.get(key)
    if isinstance(figure, dict):
        figure = figure["median"]
    return (
        None
        if isinstance(figure, bool) or not isinstance(figure, (int, float))
        else float(figure)
    )


def median(rows: Iterable[Row], key: str) -> float | None:
    values = [v for row in rows if (v := value(row, key)) is not None]
    return statistics.median(values) if values else None
