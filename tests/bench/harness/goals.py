"""The goals that the figures of `run.py rust` are held against. They are told, never asserted: a busy machine is no
fault of the code."""

from collections.abc import Callable
from dataclasses import dataclass

from .rust import BATCH, FLOOR, OURS, RMCP, RMCP_1THREAD

Figure = Callable[[str, str, str, str], float | None]
"""The figure of (kind, program, test, key); none if it was not measured."""


@dataclass(frozen=True)
class Verdict:
    """One goal: what was asked, what was reached, and whether that is enough (none: not measured)."""

    goal: str
    reached: str
    met: bool | None


def at_most(goal: str, reached: float | None, limit: float, form: str) -> Verdict:
    return Verdict(
        goal,
        "–" if reached is None else form.format(reached),
        None if reached is None else reached <= limit,
    )


def at_least(goal: str, reached: float | None, limit: float, form: str) -> Verdict:
    return Verdict(
        goal,
        "–" if reached is None else form.format(reached),
        None if reached is None else reached >= limit,
    )


def ratio(a: float | None, b: float | None) -> float | None:
    return None if a is None or not b else a / b


def difference(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a - b


def judge(figure: Figure) -> list[Verdict]:
    def of(program: str, test: str, key: str) -> float | None:
        return figure("stdio", program, test, key)

    def best_rmcp(test: str, key: str) -> float | None:
        both = [
            v
            for program in (RMCP, RMCP_1THREAD)
            if (v := of(program, test, key)) is not None
        ]
        return min(both, default=None)

    cpu = "cpu_us_per_call"
    seq, pipe = of(OURS, "seq", cpu), of(OURS, "pipe", cpu)
    return [
        at_most(
            "CPU per call, sequential: at most 1.3 × floor",
            ratio(seq, of(FLOOR, "seq", cpu)),
            1.3,
            "{:.2f} ×",
        ),
        at_most(
            "CPU per call, 64 outstanding: at most 1.3 × floor-batch",
            ratio(pipe, of(BATCH, "pipe", cpu)),
            1.3,
            "{:.2f} ×",
        ),
        at_least(
            "CPU per call, sequential: rmcp (the better of two) at least 4 ×",
            ratio(best_rmcp("seq", cpu), seq),
            4,
            "{:.1f} ×",
        ),
        at_least(
            "CPU per call, 64 outstanding: rmcp (the better of two) at least 8 ×",
            ratio(best_rmcp("pipe", cpu), pipe),
            8,
            "{:.1f} ×",
        ),
        at_most(
            "start-up to the answer to initialize: within 2 ms of the floor",
            difference(of(OURS, "startup", "init_ms"), of(FLOOR, "startup", "init_ms")),
            2,
            "{:+.2f} ms",
        ),
        at_most(
            "start-up to the first call's answer: within 2 ms of the floor",
            difference(
                of(OURS, "startup", "first_call_ms"),
                of(FLOOR, "startup", "first_call_ms"),
            ),
            2,
            "{:+.2f} ms",
        ),
        at_most(
            "idle RSS: within 3 MB of the floor",
            difference(of(OURS, "idle", "rss_mb"), of(FLOOR, "idle", "rss_mb")),
            3,
            "{:+.2f} MB",
        ),
        at_most(
            "1 MiB echo, CPU: at most 1.2 × floor",
            ratio(
                of(OURS, "big", "cpu_ms_per_call"), of(FLOOR, "big", "cpu_ms_per_call")
            ),
            1.2,
            "{:.2f} ×",
        ),
        at_most(
            "tools/list of 500 tools, all pages: at most 0.5 ms of CPU",
            of(OURS, "list", "cpu_ms_per_list"),
            0.5,
            "{:.3f} ms",
        ),
        # Half a megabyte: what an allocator may still shift about. A leak of one byte a call is twice that.
        at_most(
            "memory flat: RSS grows by at most 0.5 MB from a tenth of the calls to the end",
            difference(
                of(OURS, "grow", "rss_end_mb"), of(OURS, "grow", "rss_tenth_mb")
            ),
            0.5,
            "{:+.2f} MB",
        ),
    ]
