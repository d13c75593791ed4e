"""Tests of the runner itself: python3 -m unittest discover -s tests/cases/runner -t tests/cases"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from collections.abc import Mapping, Sequence

from runner.check import evaluate
from runner.http import SseParser
from runner.matchers import match_all, mismatch
from runner.server_stdio import Answers
from runner.wire import (
    Json,
    Message,
    cut,
    expand,
    fault_of,
    parse,
    put_ids,
    put_ids_in_text,
    text_of,
)

RUN = pathlib.Path(__file__).resolve().parent.parent / "run"


class Matchers(unittest.TestCase):
    def holds(self, matcher: Json, value: Json) -> None:
        self.assertEqual(mismatch(matcher, value), [])

    def fails(self, matcher: Json, value: Json) -> None:
        self.assertNotEqual(mismatch(matcher, value), [])

    def test_plain(self) -> None:
        self.holds({"a": [1, {"b": None}]}, {"a": [1, {"b": None, "c": 2}], "d": 3})
        self.fails({"a": [1]}, {"a": [1, 2]})
        self.fails({"a": None}, {})
        for other in ("1", 1.0, True, None):
            self.fails(1, other)

    def test_special(self) -> None:
        self.holds({"a": {"$absent": True}}, {})
        self.fails({"a": {"$absent": True}}, {"a": None})
        self.fails({"a": {"$any": True}}, {})
        self.holds({"a": {"$one_of": [None, {"$absent": True}]}}, {})
        self.holds({"$type": "number"}, 1)
        self.fails({"$type": "integer"}, True)
        self.holds({"$number": 1}, 1.0)
        self.fails({"$number": 1}, True)
        self.holds({"$contains_item": {"n": 2}}, [{"n": 1}, {"n": 2, "m": 3}])
        self.fails({"$exact": {"a": 1}}, {"a": 1, "b": 2})
        self.fails({"$exact": {"a": 1}}, {"a": 1.0})
        self.holds({"$len": 2}, "é\U0001f600")
        self.fails({"id": 7, "$not_contains": "secret"}, {"id": 7, "error": {"message": "a secret"}})
        self.holds({"id": 7, "$not_contains": "secret"}, {"id": 7})

    def test_match_all_finds_the_one_placing(self) -> None:
        wanted, values = [{}, {"id": 1}], [{"id": 1}, {"id": 2}]
        self.assertEqual(match_all(wanted, [], values), [])
        self.assertEqual(match_all([{"id": 1}], [{}], values), [])
        self.assertTrue(match_all([{"id": 1}], [], values))
        self.assertTrue(match_all([{"id": 1}, {"id": 1}], [{}], values))
        self.assertEqual(match_all([], [], []), [])


class Wire(unittest.TestCase):
    def test_short_forms(self) -> None:
        each = {"$each": ["i", 8, 10], "item": {"id": "$i", "t": "n${i}"}}
        self.assertEqual(expand([0, each]), [0, {"id": 8, "t": "n8"}, {"id": 9, "t": "n9"}, {"id": 10, "t": "n10"}])
        self.assertEqual(expand({"a": {"$repeat": ["xy", 2]}}), {"a": "xyxy"})
        self.assertEqual(text_of(["a", {"repeat": ["b", 3]}]), "abbb")
        self.assertEqual(put_ids({"id": "$r1", "x": "$other"}, {"r1": 5}), {"id": 5, "x": "$other"})
        self.assertEqual(put_ids_in_text('{"id":$r1,"m":"$JSON"}', {"r1": "a"}), '{"id":"a","m":"$JSON"}')
        self.assertEqual(b"".join(cut(b"0123456789", 4)), b"0123456789")
        self.assertEqual(len(cut(b"abc", 100)), 3)

    def test_messages(self) -> None:
        for bad in (b"NaN", b"{", b"\xff", b'{"a":Infinity}', b""):
            with self.assertRaises(ValueError):
                parse(bad)
        self.assertIsNone(fault_of({"jsonrpc": "2.0", "id": None, "error": {}}))
        self.assertTrue(fault_of([]))
        self.assertTrue(fault_of({"id": 1, "result": {}}))
        self.assertTrue(fault_of({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}}))
        self.assertTrue(fault_of({"jsonrpc": "2.0", "id": 1.5, "method": "x"}))

    def test_event_stream(self) -> None:
        text = ": c\r\nevent: a\ndata: 1\ndata:2\n\ndata: 3\r\n\r\nid: 1\n\ndata: é\n\n".encode()
        want = [("a", "1\n2"), ("message", "3"), ("message", "é")]
        for n in range(len(text)):
            parser = SseParser()
            self.assertEqual(parser.feed(text[:n]) + parser.feed(text[n:]), want)

    def test_answers_are_armed_up_to_the_next_wait(self) -> None:
        answers = Answers([{"msg": 1}, {"serve": "m", "result": {"n": 1}}, {"wait": 1}, {"serve": "m", "result": {"n": 2}}])
        ask = {"method": "m", "id": 1}
        answers.arm(0)
        self.assertEqual([answers.answer(ask)["result"]["n"] for _ in range(2)], [1, 1])
        answers.arm(1)
        answers.arm(3)
        self.assertEqual(answers.answer(ask)["result"]["n"], 2)
        self.assertIn("error", answers.answer({"method": "other", "id": 2}))


class AnyOf(unittest.TestCase):
    class Run:
        alive = None

        def responses(self) -> list[Message]:
            return [{"id": 1, "result": {}}]

    def test_one_choice_is_enough(self) -> None:
        self.assertEqual(evaluate({"any_of": [{"replies": []}, {"replies": [{"id": 1}]}]}, self.Run()), [])
        self.assertTrue(evaluate({"any_of": [{"replies": []}, {"replies": [{"id": 2}]}]}, self.Run()))


SERVER = """
    import json, os, sys, time
    mode = sys.argv[1]
    if os.environ["MCP_FIXTURE"] == "paged": sys.exit(77)
    for line in sys.stdin:
        try: m = json.loads(line.lstrip("\\ufeff"))
        except ValueError: continue
        if "id" not in m: continue
        if mode == "hang" and m["method"] == "ping":
            os.close(0); time.sleep(600)
        if mode == "noise" or (mode == "chatty" and m["method"] == "ping"): print("hello")
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {}}), flush=True)
"""


class Cases(unittest.TestCase):
    """The cases as they are."""

    def test_entries_and_text_agree(self) -> None:
        headings = dict(re.findall(r"^### (FC-\d{3}) (.+)$", (RUN.parent / "field-cases.md").read_text("utf-8"), re.MULTILINE))
        entries = json.loads((RUN.parent / "field-cases.json").read_text("utf-8"))
        self.assertEqual(len({e["id"] for e in entries}), len(entries))
        for entry in entries:
            self.assertRegex(entry["id"], r"^FC-\d{3}[a-z]+$")
            self.assertEqual(entry["title"], headings[entry["id"][:6]], entry["id"])

    def test_runs_lines_name_the_entries(self) -> None:
        named: set[str] = set()
        text = (RUN.parent / "field-cases.md").read_text("utf-8")
        for line in re.findall(r"^- runs: (.+)$", text, re.MULTILINE):
            for first, last in re.findall(r"(FC-\d{3}[a-z])(?: – (FC-\d{3}[a-z]))?", line):
                named |= {first[:6] + chr(c) for c in range(ord(first[6]), ord((last or first)[6]) + 1)}
        entries = json.loads((RUN.parent / "field-cases.json").read_text("utf-8"))
        self.assertEqual(named, {e["id"] for e in entries})


class Whole(unittest.TestCase):
    """The program, on a fake server."""

    def run_cases(self, mode: str, *cases: Message, options: Sequence[str] = (), env: Mapping[str, str] | None = None) -> tuple[int, str]:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "server.py").write_text(textwrap.dedent(SERVER))
            common = {"title": "t", "side": "server", "transport": "stdio"}
            (folder / "cases.json").write_text(json.dumps([common | c for c in cases]))
            server = f"{sys.executable} {folder}/server.py {mode}"
            command = [sys.executable, str(RUN), "server", "--stdio", server, "--cases", str(folder / "cases.json")]
            done = subprocess.run(
                [*command, *options], capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **(env or {})},
            )
            return done.returncode, done.stdout

    def ping(self, id: str, **more: Json) -> Message:
        ping = {"msg": {"jsonrpc": "2.0", "id": 2, "method": "ping"}}
        return {"id": id, "send": [{"init": True}, ping], "expect": {"replies": [{"id": 2, "result": {}}]}} | more

    def test_pass_fail_skip(self) -> None:
        wrong = {"replies": [{"id": 2, "result": {"x": 1}}]}
        code, out = self.run_cases("good", self.ping("FC-001a"), self.ping("FC-001b", expect=wrong), self.ping("FC-002a", fixture="paged"))
        self.assertEqual((code, out.strip().split("\n")[-1]), (1, "1 passed, 1 failed, 1 skipped"))
        self.assertIn("result.x: wanted 1, got nothing", out)
        code, out = self.run_cases("good", self.ping("FC-001a"), self.ping("FC-001b", expect=wrong), options=["--only", "FC-001a"])
        self.assertEqual((code, out.strip().split("\n")[-1]), (0, "1 passed, 0 failed, 0 skipped"))

    def test_noise_on_stdout_fails(self) -> None:
        code, out = self.run_cases("noise", self.ping("FC-001a"))
        self.assertEqual(code, 1)
        self.assertIn("not a JSON message", out)

    def test_the_capture_holds_both_sides(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            raw = {"raw": '\ufeff{"jsonrpc":"2.0","id":"3","method":"ping"}\n{bad\n'}
            case = self.ping("FC-001a", send=[{"init": True}, raw], expect={"replies": [{"id": "3", "result": {}}]})
            self.run_cases("chatty", case, env={"MCP_CASES_TRACE_DIR": folder})
            text = pathlib.Path(folder, "server-stdio-FC-001a.jsonl").read_text("utf-8")
        lines = [json.loads(x) for x in text.splitlines()]
        self.assertEqual(len({x["session"] for x in lines}), 1)
        self.assertEqual({x["revision"] for x in lines}, {"2024-11-05"})
        sent = [x["message"].get("id") for x in lines if not x["under_test"]]
        self.assertEqual(sent, ["init", None, "3"])
        self.assertEqual({x["from"] for x in lines if x["under_test"]}, {"server"})
        self.assertEqual([x["message"]["id"] for x in lines if x["under_test"] and "message" in x], ["init", "3"])
        self.assertIn("hello", [x.get("text") for x in lines if x["under_test"]])

    def test_a_hanging_server_ends_at_the_hard_limit(self) -> None:
        began = time.monotonic()
        case = self.ping("FC-001a", send=[{"init": True}, {"msg": {"jsonrpc": "2.0", "id": 2, "method": "ping"}}, {"pause_ms": 90000}])
        code, out = self.run_cases("hang", case, options=["--limit-s", "2"])
        self.assertEqual(code, 1)
        self.assertIn("the hard limit of 2 s is over", out)
        self.assertLess(time.monotonic() - began, 20)

    def test_a_server_that_does_not_start(self) -> None:
        code, out = self.run_cases("nosuch", self.ping("FC-001a"), options=["--stdio", "false"])
        self.assertEqual((code, out.strip().split("\n")[-1]), (1, "0 passed, 1 failed, 0 skipped"))

    def test_a_wrong_cases_file(self) -> None:
        code, out = self.run_cases("good", self.ping("FC-001a", expect={"nosuch": 1}))
        self.assertEqual(code, 2)
        self.assertIn("unknown expect nosuch", out)


if __name__ == "__main__":
    unittest.main()
