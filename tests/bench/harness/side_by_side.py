"""The tables of `run.py rust`: one row for each figure, one column for each program, then the ratios."""

import os
import platform
import subprocess
import time
from dataclasses import dataclass

from .goals import Verdict, judge, ratio
from .measure import CLEAN, Row, disturbed, median, quietest
from .rust import BATCH, FLOOR, OURS, RMCP, RMCP_1THREAD

COLUMNS = {
    "stdio": (FLOOR, BATCH, RMCP, RMCP_1THREAD, OURS),
    "client": (FLOOR, RMCP, RMCP_1THREAD, OURS),
}
RATIOS = {
    "stdio": ((OURS, FLOOR), (OURS, BATCH), (RMCP, OURS)),
    "client": ((OURS, FLOOR), (RMCP, OURS)),
}
TITLES = {
    "stdio": "Server over stdio",
    "client": "Client over stdio, against the driver's instant server",
}


@dataclass(frozen=True)
class Line:
    label: str
    test: str
    key: str


LINES = {
    "stdio": (
        Line("start to the answer to initialize, ms", "startup", "init_ms"),
        Line("… CPU ms", "startup", "init_cpu_ms"),
        Line("start to the answer to the first call, ms", "startup", "first_call_ms"),
        Line("… CPU ms", "startup", "first_call_cpu_ms"),
        Line("idle RSS, MB", "idle", "rss_mb"),
        Line("idle PSS, MB", "idle", "pss_mb"),
        Line("**call, sequential: CPU µs**", "seq", "cpu_us_per_call"),
        Line("… p50 µs", "seq", "p50_us"),
        Line("… p99 µs", "seq", "p99_us"),
        Line("**call, 64 outstanding: CPU µs**", "pipe", "cpu_us_per_call"),
        Line("… calls/s", "pipe", "calls_per_s"),
        Line("echo of 1 MiB: CPU ms", "big", "cpu_ms_per_call"),
        Line("… peak RSS, MB", "big", "peak_rss_mb"),
        Line("tools/list, 500 tools: CPU ms", "list", "cpu_ms_per_list"),
        Line("… pages", "list", "pages"),
    ),
    "client": (
        Line("start to the first result, ms", "first", "first_ms"),
        Line("… CPU ms", "first", "first_cpu_ms"),
        Line("RSS at the first result, MB", "first", "rss_mb"),
        Line("**call, sequential: CPU µs**", "calls", "seq_cpu_us"),
        Line("… p50 µs", "calls", "seq_p50_us"),
        Line("… p99 µs", "calls", "seq_p99_us"),
        Line("**call, 64 at a time: CPU µs**", "calls", "conc_cpu_us"),
        Line("… calls/s", "calls", "conc_per_s"),
    ),
}


def growth_lines(calls: int) -> tuple[Line, ...]:
    return (
        Line("RSS before the calls, MB", "grow", "rss_idle_mb"),
        Line(f"… after {calls // 10:,}", "grow", "rss_tenth_mb"),
        Line(f"… after {calls // 2:,}", "grow", "rss_half_mb"),
        Line(f"… after {calls:,}", "grow", "rss_end_mb"),
    )


class Results:
    """The runs to go by, of every program and test."""

    def __init__(self, rows: list[Row]) -> None:
        groups: dict[tuple[str, str, str], list[Row]] = {}
        for row in rows:
            groups.setdefault((row["suite"], row["peer"], row["test"]), []).append(row)
        self.chosen = {key: quietest(group) for key, group in groups.items()}

    def figure(self, kind: str, program: str, test: str, key: str) -> float | None:
        return median(self.chosen.get((kind, program, test), ()), key)

    def disturbed(self, kind: str, program: str, test: str) -> bool:
        return disturbed(self.chosen.get((kind, program, test), ()))

    def programs(self, kind: str) -> list[str]:
        return [
            p for p in COLUMNS[kind] if any(k[:2] == (kind, p) for k in self.chosen)
        ]


def number(value: float | None) -> str:
    """Three significant digits, no exponent."""
    if value is None:
        return "–"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= 0.001 else "0"


def table(results: Results, kind: str, calls: int) -> str:
    programs = results.programs(kind)
    pairs = [(a, b) for a, b in RATIOS[kind] if a in programs and b in programs]
    header = [TITLES[kind], *programs, *(f"{a} ÷ {b}" for a, b in pairs)]
    text = ["| " + " | ".join(header) + " |", "| --- |" + " ---: |" * (len(header) - 1)]
    for line in (*LINES[kind], *growth_lines(calls)):
        values = {p: results.figure(kind, p, line.test, line.key) for p in programs}
        cells = [
            number(v)
            + (" ~" if v is not None and results.disturbed(kind, p, line.test) else "")
            for p, v in values.items()
        ]
        ratios = [ratio(values[a], values[b]) for a, b in pairs]
        text.append(
            "| "
            + " | ".join(
                [
                    line.label,
                    *cells,
                    *("–" if r is None else f"{r:.2f}" for r in ratios),
                ]
            )
            + " |"
        )
    return "\n".join(text)


def goals_table(verdicts: list[Verdict]) -> str:
    words = {True: "met", False: "**missed**", None: "not measured"}
    lines = [f"| {v.goal} | {v.reached} | {words[v.met]} |" for v in verdicts]
    return "\n".join(["| goal | reached | |", "| --- | ---: | --- |", *lines])


def page(rows: list[Row], cpu: int, passes: int, calls: int) -> str:
    """All of it, in Markdown."""
    results = Results(rows)
    parts = [
        where_and_when(cpu, passes),
        *(table(results, kind, calls) for kind in COLUMNS if results.programs(kind)),
    ]
    if OURS in results.programs("stdio"):
        parts.append(goals_table(judge(results.figure)))
    return "\n\n".join(parts) + "\n"


def where_and_when(cpu: int, passes: int) -> str:
    rustc = subprocess.run(
        ["rustc", "--version"], capture_output=True, text=True, check=False
    ).stdout.split()
    return (
        f"{time.strftime('%Y-%m-%d')}; {cpu_model()}, {os.cpu_count()} CPUs, {platform.system()} {platform.release()}; "
        f"rustc {rustc[1] if len(rustc) > 1 else 'unknown'}. Driver and program together on CPU {cpu}. Medians of {passes} "
        f"interleaved passes, memory over many calls: one run. `~`: too few runs during which other processes used less "
        f"than {CLEAN} CPUs; compare such figures only with care."
    )


def cpu_model() -> str:
    with open("/proc/cpuinfo") as info:
        models = [
            line.split(":", 1)[1].strip()
            for line in info
            if line.startswith("model name")
        ]
    return models[0] if models else platform.machine()
