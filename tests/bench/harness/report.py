"""`run.py report`: a table for each test of recorded results, whatever programs and figures they hold."""

import json
from collections.abc import Iterable
from pathlib import Path

from .measure import Row, disturbed, quietest, value

ABOUT_THE_RUN = {
    "peer", "test", "suite", "at", "load", "bytes", "window", "calls", "conc", "total", "protocol", "server",
    "other_cores", "pinned", "sessions",
}  # fmt: skip


def read(files: Iterable[Path]) -> list[Row]:
    return [
        json.loads(line) for file in files for line in file.read_text().splitlines()
    ]


def report(rows: list[Row], least: int) -> str:
    failed = [row for row in rows if row["test"] == "failed"]
    groups: dict[tuple[str, str, int, bool], dict[str, list[Row]]] = {}
    for row in rows:
        if row["test"] != "failed":
            sessions = int(row["sessions"]) if row["test"] == "sse" else 0
            key = (row["suite"], row["test"], sessions, bool(row["pinned"]))
            groups.setdefault(key, {}).setdefault(row["peer"], []).append(row)
    parts = []
    for (suite, test, sessions, pinned), peers in sorted(groups.items()):
        title = (
            f"### {suite} / {test}"
            + (f" / {sessions} sessions" if sessions else "")
            + (" / one CPU" if pinned else "")
        )
        parts.append(
            title
            + "\n\n"
            + table({name: quietest(runs, least) for name, runs in peers.items()})
        )
    if failed:
        parts.append(
            "### Failed\n\n" + "\n".join(f"* {row['fault']}" for row in failed)
        )
    return "\n\n".join(parts) + "\n"


def table(peers: dict[str, list[Row]]) -> str:
    keys = list(
        dict.fromkeys(
            k
            for runs in peers.values()
            for row in runs
            for k in row
            if k not in ABOUT_THE_RUN
        )
    )
    lines = ["| peer | " + " | ".join(keys) + " |", "|" + " --- |" * (len(keys) + 1)]
    for name, runs in peers.items():
        mark = " ~" if disturbed(runs) else ""
        lines.append(
            f"| {name}{mark} | " + " | ".join(cell(runs, key) for key in keys) + " |"
        )
    return "\n".join(lines)


def cell(runs: list[Row], key: str) -> str:
    """The median of the runs and in brackets their range; for what is no number, what the last run said."""
    values = sorted(v for row in runs if (v := value(row, key)) is not None)
    if not values:
        return str(runs[-1].get(key, ""))
    middle = len(values) // 2
    median = (
        values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2
    )
    spread = f" ({values[0]:.4g}–{values[-1]:.4g})" if values[0] != values[-1] else ""
    return f"{median:.4g}{spread}"
