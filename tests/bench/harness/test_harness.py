"""Which runs count, what the goals make of the figures, and what the tables show. No test measures anything.

python3 -m unittest discover -s tests/bench -p 'test_*.py'
"""

import unittest
from typing import ClassVar

from harness.goals import judge
from harness.measure import Peer, Row, median, quietest
from harness.report import report
from harness.rust import (
    BATCH,
    FLOOR,
    FULL,
    OURS,
    QUICK,
    RMCP,
    RMCP_1THREAD,
    schedule,
)
from harness.side_by_side import Results, number, page


def row(
    peer: str, test: str, other: float = 0.0, suite: str = "stdio", **figures: object
) -> Row:
    return {
        "suite": suite,
        "peer": peer,
        "test": test,
        "other_cores": other,
        "pinned": True,
        **figures,
    }


def spread(value: float) -> Row:
    return {"median": value, "min": value, "max": value, "n": 1}


class Choice(unittest.TestCase):
    def test_all_undisturbed_runs_count_and_no_other(self) -> None:
        rows = [row("a", "seq", other, x=other) for other in (0.9, 0.1, 0.2, 0.0, 0.05)]
        self.assertEqual([r["x"] for r in quietest(rows)], [0.0, 0.05, 0.1, 0.2])

    def test_with_too_few_undisturbed_ones_the_quietest_count(self) -> None:
        rows = [row("a", "seq", other, x=other) for other in (0.9, 0.1, 0.5, 0.7)]
        self.assertEqual([r["x"] for r in quietest(rows)], [0.1, 0.5, 0.7])

    def test_the_median_takes_spreads_and_numbers_and_leaves_out_what_is_missing(
        self,
    ) -> None:
        rows = [
            row("a", "t", x=spread(1)),
            row("a", "t", x=3),
            row("a", "t", x=None),
            row("a", "t", x=spread(2)),
        ]
        self.assertEqual(median(rows, "x"), 2)
        self.assertIsNone(median(rows, "y"))


class Goals(unittest.TestCase):
    GOOD: ClassVar[dict[tuple[str, str, str], float]] = {
        (OURS, "seq", "cpu_us_per_call"): 1.29,
        (OURS, "pipe", "cpu_us_per_call"): 0.64,
        (FLOOR, "seq", "cpu_us_per_call"): 1.0,
        (BATCH, "pipe", "cpu_us_per_call"): 0.5,
        (RMCP, "seq", "cpu_us_per_call"): 9.0,
        (RMCP_1THREAD, "seq", "cpu_us_per_call"): 5.2,
        (RMCP, "pipe", "cpu_us_per_call"): 5.2,
        (RMCP_1THREAD, "pipe", "cpu_us_per_call"): 9.0,
        (OURS, "startup", "init_ms"): 2.9,
        (FLOOR, "startup", "init_ms"): 1.0,
        (OURS, "startup", "first_call_ms"): 2.9,
        (FLOOR, "startup", "first_call_ms"): 1.0,
        (OURS, "idle", "rss_mb"): 4.9,
        (FLOOR, "idle", "rss_mb"): 2.0,
        (OURS, "big", "cpu_ms_per_call"): 1.19,
        (FLOOR, "big", "cpu_ms_per_call"): 1.0,
        (OURS, "list", "cpu_ms_per_list"): 0.49,
        (OURS, "grow", "rss_tenth_mb"): 5.0,
        (OURS, "grow", "rss_end_mb"): 5.4,
    }

    def met(self, **worse: float) -> list[bool | None]:
        figures = {
            key: value * worse.get(key[1], 1.0) if key[0] == OURS else value
            for key, value in self.GOOD.items()
        }
        return [
            v.met
            for v in judge(
                lambda kind, program, test, key: figures.get((program, test, key))
            )
        ]

    def test_all_are_met_just_inside_the_limits(self) -> None:
        self.assertEqual(self.met(), [True] * 10)

    def test_each_test_misses_its_own_goals_outside_the_limits(self) -> None:
        missed = {
            "seq": [0, 2],
            "pipe": [1, 3],
            "startup": [4, 5],
            "idle": [6],
            "big": [7],
            "list": [8],
            "grow": [9],
        }
        for test, goals in missed.items():
            factor = 10.0 if test == "grow" else 1.1
            with self.subTest(test):
                self.assertEqual(
                    [n for n, met in enumerate(self.met(**{test: factor})) if not met],
                    goals,
                )

    def test_what_was_not_measured_is_neither_met_nor_missed(self) -> None:
        self.assertEqual({v.met for v in judge(lambda *_: None)}, {None})


class Tables(unittest.TestCase):
    def test_numbers_have_three_digits_and_no_exponent(self) -> None:
        shown = [number(v) for v in (None, 0.0, 0.1234, 12.345, 99.96, 1234567.0)]
        self.assertEqual(shown, ["–", "0", "0.123", "12.3", "100", "1,234,567"])

    def test_the_page_has_ratios_a_mark_for_disturbed_runs_and_the_goals(self) -> None:
        rows = [
            row(p, "seq", o, cpu_us_per_call=spread(v))
            for p, v, o in ((FLOOR, 2.0, 0), (OURS, 3.0, 1), (RMCP, 30.0, 0))
        ]
        text = page(rows, cpu=0, passes=1, calls=1000)
        line = next(
            line
            for line in text.splitlines()
            if line.startswith("| **call, sequential")
        )
        self.assertEqual(
            line, "| **call, sequential: CPU µs** | 2 | 30 | 3 ~ | 1.50 | 10.00 |"
        )
        self.assertIn(
            "| CPU per call, sequential: at most 1.3 × floor | 1.50 × | **missed** |",
            text,
        )

    def test_without_ours_there_are_no_goals(self) -> None:
        text = page(
            [row(FLOOR, "seq", cpu_us_per_call=spread(2.0))],
            cpu=0,
            passes=1,
            calls=1000,
        )
        self.assertNotIn("goal", text)
        self.assertEqual(Results([]).programs("stdio"), [])

    def test_a_report_shows_medians_with_their_range_and_what_failed(self) -> None:
        rows = [row("a", "seq", p50_us=spread(v)) for v in (1.0, 2.0, 4.0)]
        rows.append(
            {
                "suite": "stdio",
                "peer": "b",
                "test": "failed",
                "fault": "b does not start",
            }
        )
        text = report(rows, least=3)
        self.assertIn("### stdio / seq / one CPU", text)
        self.assertIn("| a | 2 (1–4) |", text)
        self.assertIn("* b does not start", text)


class Schedule(unittest.TestCase):
    def test_programs_of_one_test_run_side_by_side_in_every_pass(self) -> None:
        peers = [
            Peer("a", "stdio", ""),
            Peer("b", "stdio", ""),
            Peer("c", "client", ""),
        ]
        for plan in (FULL, QUICK):
            self.assertGreaterEqual(plan.passes, 3)
            jobs = list(schedule(peers, plan))
            servers = [
                (peer.name, flags) for peer, flags in jobs if peer.kind == "stdio"
            ]
            for first, second in zip(servers[::2], servers[1::2], strict=True):
                self.assertEqual((first[0], second[0], first[1]), ("a", "b", second[1]))
            per_pass = 2 * len(plan.server) + len(plan.client)
            self.assertEqual(len(jobs), plan.passes * per_pass + len(peers))


if __name__ == "__main__":
    unittest.main()
