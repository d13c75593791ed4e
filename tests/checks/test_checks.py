"""Tests of the checks: each lets good input pass and finds a planted fault. Needs requirements.txt.

python -m unittest discover -s tests/checks
"""
import copy
import json
import pathlib
import shutil
import unittest
from typing import Any

import against_shared
import lists
import schema_traffic
from in_folder import Folder

SCHEMA = schema_traffic.Schema(against_shared.CLOSED)


def request(method: str, params: Any = None, id: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method} | ({} if params is None else {"params": params})


def result(value: Any, id: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": value}


class ClosedSchema(unittest.TestCase):
    # proves: SCH-11
    def test_a_frame_check_rejects_an_empty_object_and_takes_a_ping(self) -> None:
        self.assertTrue(SCHEMA.faults("JSONRPCMessage", {}))
        self.assertEqual(SCHEMA.faults("JSONRPCMessage", request("ping")), [])
        self.assertTrue(SCHEMA.faults("JSONRPCMessage", [request("ping")]))

    def test_every_object_says_whether_it_is_closed(self) -> None:
        free = {
            "JSONRPCRequest.params", "JSONRPCNotification.params", "Meta", "RequestMeta", "Result", "ModelHint", "Tool.inputSchema",
            "ExperimentalCapabilities", "ClientCapabilities.sampling", "ServerCapabilities.logging", "CallToolRequest.params.arguments",
            "CreateMessageRequest.params.metadata", "ExperimentalCapabilities{}", "Tool.inputSchema.properties",
            "Tool.inputSchema.properties{}", "GetPromptRequest.params.arguments",
        }
        found = {place for name, shape in SCHEMA.definitions.items() for place in self.open_objects(name, shape)}
        self.assertEqual(found, free)

    def open_objects(self, where: str, shape: Any) -> list[str]:
        if not isinstance(shape, dict):
            return []
        out = [where] if shape.get("type") == "object" and shape.get("additionalProperties") is not False else []
        for name, inner in shape.get("properties", {}).items():
            out += self.open_objects(f"{where}.{name}", inner)
        out += self.open_objects(f"{where}[]", shape.get("items"))
        return out + self.open_objects(f"{where}{{}}", shape.get("additionalProperties"))

    def test_every_method_of_the_requirements_has_its_messages(self) -> None:
        text = lists.REQUIREMENTS.read_text("utf-8").split("### 1.3")[0]
        rows = [line.split("|")[1].strip().strip("`") for line in text.splitlines() if line.startswith("| `")]
        self.assertEqual(len(rows), 24)
        self.assertEqual(set(rows), SCHEMA.requests.keys() | SCHEMA.notifications.keys())
        self.assertEqual({SCHEMA.result_of(m) for m in ("ping", "logging/setLevel", "resources/subscribe")}, {"EmptyResult"})
        self.assertEqual(SCHEMA.result_of("tools/call"), "CallToolResult")

    def test_members_that_hold_free_values(self) -> None:
        arguments = {"a": None, "b": {"_meta": 1}, "c": [1.5, {}]}
        good = request("tools/call", {"name": "t", "arguments": arguments, "_meta": {"progressToken": 0, "traceparent": "x"}})
        self.assertEqual(SCHEMA.faults("CallToolRequest", good), [])
        for data in (None, 1, "x", {"a": None}):
            log = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": data}}
            self.assertEqual(SCHEMA.faults("LoggingMessageNotification", log), [])

    def test_what_must_not_be_written(self) -> None:
        text = {"type": "text", "text": "x"}
        tool = {"name": "t", "inputSchema": {"type": "object"}}
        bad: list[tuple[str, Any]] = [
            ("ListToolsResult", {"tools": [tool | {"title": "later"}]}),
            ("ListToolsResult", {"tools": [tool | {"_meta": {}}]}),
            ("ListToolsResult", {"tools": [{"name": "t", "inputSchema": {"type": "string"}}]}),
            ("ListToolsResult", {"tools": [], "nextCursor": None}),
            ("CallToolResult", {"content": [text], "structuredContent": {}}),
            ("CallToolResult", {"content": [{"type": "audio", "data": "", "mimeType": "audio/wav"}]}),
            ("CallToolResult", {"isError": False}),
            ("CallToolResult", {"content": [{"type": "image", "data": "_-8=", "mimeType": "image/png"}]}),
            ("EmptyResult", {"ok": True}),
            ("InitializeResult", {"protocolVersion": "2024-11-05", "capabilities": {"completions": {}}, "serverInfo": {"name": "", "version": ""}}),
            ("CompleteResult", {"completion": {"values": ["x"] * 101}}),
            ("CompleteResult", {"completion": {"values": [], "total": 3.0}}),
            ("ListRootsResult", {"roots": [{"uri": "https://x/"}]}),
            ("CreateMessageResult", {"role": "assistant", "model": "m", "content": [text]}),
            ("ReadResourceResult", {"contents": [{"uri": "no scheme", "text": ""}]}),
            ("ReadResourceResult", {"contents": [{"uri": "x:y", "text": "", "blob": ""}]}),
            ("PingRequest", request("ping", {"_meta": {"progressToken": 1.5}})),
            ("PingRequest", request("ping", {"x": 1})),
            ("ProgressNotification", {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1, "message": "m"}}),
        ]
        for name, value in bad:
            with self.subTest(name=name, value=value):
                self.assertTrue(SCHEMA.faults(name, value))


class Traffic(Folder):
    def check(self, *entries: dict[str, Any], extra: tuple[str, ...] = ()) -> schema_traffic.Check:
        path = self.folder / "capture.jsonl"
        path.write_text("".join(json.dumps(e) + "\n" for e in entries), "utf-8")
        return schema_traffic.check_traffic([str(path)], extra)[0]

    def ran(self, message: Any, side: str = "server", under_test: bool = True, session: str = "s") -> dict[str, Any]:
        return {"from": side, "under_test": under_test, "revision": "2024-11-05", "session": session, "message": message}

    def tap(self, direction: str, message: Any, session: str = "s") -> dict[str, Any]:
        return {"dir": direction, "t": 0, "session": session, "frame": message if isinstance(message, str) else json.dumps(message)}

    def asked(self, message: Any, session: str = "s") -> dict[str, Any]:
        return self.ran(message, "client", under_test=False, session=session)

    def test_good_traffic_passes_and_is_counted(self) -> None:
        check = self.check(
            self.asked(request("tools/list", id="1")), self.asked(request("ping", id=1)),
            self.ran(result({"tools": []}, "1")), self.ran(result({}, 1)),
            self.ran({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "m"}}),
            self.ran(request("roots/list", id=0)),
        )
        self.assertEqual(check.faults, [])
        self.assertEqual(check.counts, {"ListToolsResult": 1, "EmptyResult": 1, "JSONRPCError": 1, "ListRootsRequest": 1})

    def test_the_driver_may_write_what_it_likes(self) -> None:
        self.assertEqual(self.check(self.asked({"id": {}, "method": 5}), self.asked({}), self.ran(request("ping"))).faults, [])

    def test_a_result_is_judged_by_the_method_of_its_request(self) -> None:
        check = self.check(self.asked(request("tools/list")), self.ran(result({})))
        self.assertIn("ListToolsResult", check.faults[0])
        self.assertIn("'tools' is a required property", check.faults[0])

    def test_ids_are_kept_apart_by_type_and_session(self) -> None:
        text = self.check(self.asked(request("ping", id=1)), self.ran(result({}, "1")))
        self.assertIn("no request that this result answers", text.faults[0])
        other = self.check(self.asked(request("ping"), "a"), self.ran(result({}), session="b"))
        self.assertIn("no request that this result answers", other.faults[0])
        whole = self.check(self.asked(request("ping", id=1.0)), self.ran(result({}, 1)), self.ran(result({}, 1.0)))
        self.assertEqual(whole.faults, [])

    def test_an_id_used_twice_may_be_answered_for_either(self) -> None:
        check = self.check(self.asked(request("tools/list")), self.asked(request("ping")), self.ran(result({"tools": []})))
        self.assertEqual(check.faults, [])

    def test_faults_of_the_envelope(self) -> None:
        for bad in (
            [request("ping")], 5, {"jsonrpc": "1.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "id": 1}, request("ping") | {"zz": 1},
            request("no/such"), request("ping", id=None), request("ping", params=[]),
            {"jsonrpc": "2.0", "method": "notifications/no"}, result({}) | {"error": {"code": 1, "message": ""}},
            {"jsonrpc": "2.0", "id": 1, "error": {"code": "1", "message": ""}},
        ):
            with self.subTest(bad=bad):
                self.assertEqual(len(self.check(self.asked(request("ping")), self.ran(bad)).faults), 1)

    def test_a_side_does_not_send_what_the_other_sends(self) -> None:
        self.assertIn("a server does not send 'tools/list'", self.check(self.ran(request("tools/list"))).faults[0])
        self.assertEqual(self.check(self.ran(request("tools/list"), "client")).faults, [])
        start = request("initialize", {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "n", "version": "1"}})
        for first, fault in (("out", True), ("in", False)):
            taps = [self.tap(first, start), self.tap("out", request("roots/list", id=2))]
            self.assertEqual(any("does not send" in f for f in self.check(*taps).faults), fault)

    def test_text_that_is_no_json(self) -> None:
        bad = self.ran(None) | {"text": "hello"}
        del bad["message"]
        self.assertIn("hello", self.check(bad).faults[0])

    def test_tap_lines(self) -> None:
        good = self.check(self.tap("in", request("ping")), self.tap("in", "{bad"), self.tap("out", result({})))
        self.assertEqual((good.faults, good.counts.total()), ([], 1))
        for frame in ("{bad", '{"jsonrpc":"2.0","id":1,"result":NaN}', result({"x": 1})):
            self.assertEqual(len(self.check(self.tap("in", request("ping")), self.tap("out", frame)).faults), 1)
        raw = {"dir": "out", "t": 0, "session": "s", "frame_hex": "ff"}
        self.assertIn("not UTF-8", self.check(raw).faults[0])

    def test_methods_of_the_application(self) -> None:
        lines = [self.ran(request("my/own", {"a": 1})), self.asked(request("my/own", id=3)), self.ran(result({"b": 2}, 3))]
        self.assertEqual(len(self.check(*lines).faults), 2)
        self.assertEqual(self.check(*lines, extra=("my/own",)).faults, [])
        bad = self.check(self.ran(request("my/own", [])), extra=("my/own",))
        self.assertEqual(len(bad.faults), 1)

    def test_other_revisions_are_not_taken_for_this_one(self) -> None:
        self.assertIn("2025-03-26", self.check(self.ran(request("ping")) | {"revision": "2025-03-26"}).faults[0])

    def test_exit_codes(self) -> None:
        path = self.folder / "capture.jsonl"
        for entry, code in ((self.ran(request("ping")), 0), (self.ran(request("no/such")), 1), (self.asked(request("ping")), 1), ({"x": 1}, 2)):
            path.write_text(json.dumps(entry) + "\n", "utf-8")
            self.assertEqual(self.printed(schema_traffic.main, str(self.folder))[0], code)
        path.unlink()
        self.assertEqual(self.printed(schema_traffic.main, str(self.folder))[0], 2)


class AgainstShared(Folder):
    """The folder beside the project is made here from the project's own lists, with faults planted."""

    def setUp(self) -> None:
        super().setUp()
        (self.folder / "spec" / "schema").mkdir(parents=True)
        (self.folder / "cases").mkdir()
        self.requirements = self.folder / "spec" / "requirements-2024-11-05.md"
        shutil.copy(lists.REQUIREMENTS, self.requirements)
        for name in ("field-cases.md", "field-cases.json"):
            shutil.copy(lists.CASES / name, self.folder / "cases" / name)

    def edit(self, path: pathlib.Path, old: str, new: str) -> None:
        text = path.read_text("utf-8")
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1), "utf-8")

    def run_it(self, *argv: str) -> tuple[int, str]:
        return self.printed(against_shared.main, "--shared", str(self.folder), *argv)

    def test_nothing_there(self) -> None:
        code, out = self.printed(against_shared.main, "--shared", str(self.folder / "nosuch"))
        self.assertEqual((code, out.count("\n")), (0, 1))

    def test_equal_texts(self) -> None:
        code, out = self.run_it("--strict")
        self.assertEqual(code, 0, out)
        self.assertIn("0 texts new or different", out)

    def test_new_and_changed_texts_are_reported(self) -> None:
        self.edit(self.requirements, "292 numbered", "293 numbered")
        self.edit(self.requirements, "- **JRPC-02**", "- **JRPC-99** · MUST · both · D — New.\n  test: it.\n- **JRPC-02**")
        self.edit(self.requirements, "  test: all captured output has it;", "  test: some of it;")
        self.edit(self.requirements, "| SHOULD disconnect |", "| MAY disconnect |")
        self.edit(self.folder / "cases" / "field-cases.md", "ping id 2 answered `{}`", "ping unanswered")
        self.edit(self.folder / "cases" / "field-cases.json", '"FC-001b"', '"FC-001z"')
        code, out = self.run_it()
        self.assertEqual(code, 0)
        for part in (
            "requirement JRPC-99 is new there", "requirement JRPC-01 differs in line 2", "ruling 1 differs", "field case FC-001 differs",
            "wire case FC-001z is new there", "wire case FC-001b is only here", "6 texts new or different",
        ):
            self.assertIn(part, out)
        self.assertEqual(self.run_it("--strict")[0], 1)

    def test_a_list_that_cannot_be_read(self) -> None:
        self.edit(self.requirements, "- **JRPC-02**", "- **JRPC-01**")
        self.assertEqual(self.run_it()[0], 2)

    def test_faults_of_the_schema(self) -> None:
        ours = {"$defs": SCHEMA.definitions}

        def differences(change: Any) -> list[str]:
            changed = copy.deepcopy(ours)
            change(changed["$defs"])
            return against_shared.compare_schemas(against_shared.Definitions(changed), against_shared.Definitions(ours))

        def alter(*path: str, value: Any = None) -> list[str]:
            def change(definitions: Any) -> None:
                place = definitions
                for part in path[:-1]:
                    place = place[part]
                if value is None:
                    del place[path[-1]]
                else:
                    place[path[-1]] = value

            return differences(change)

        self.assertEqual(differences(lambda _: None), [])
        self.assertEqual(alter("Tool"), ["definition Tool is only there"])
        self.assertEqual(alter("Toil", value={}), ["definition Toil is only here"])
        self.assertEqual(alter("Tool", "properties", "title", value={"type": "string"}), ["Tool: member title is only here"])
        self.assertEqual(alter("Tool", "properties", "description"), ["Tool: member description is only there"])
        self.assertEqual(alter("Tool", "required", value=["name"]), ["Tool: required inputSchema is only there"])
        self.assertEqual(len(alter("Resource", "properties", "size", value={"type": "number"})), 1)
        self.assertEqual(len(alter("Role", "enum", value=["user"])), 1)
        self.assertEqual(len(alter("CallToolResult", "properties", "content", "items", "anyOf", value=[{"$ref": "#/$defs/TextContent"}])), 2)
        self.assertEqual(len(alter("GetPromptRequest", "properties", "params", "properties", "arguments", "additionalProperties", value=True)), 1)


class OwnLists(unittest.TestCase):
    def test_they_are_whole(self) -> None:
        requirements = lists.read_requirements()
        self.assertEqual(len(requirements), 292 + 31)
        self.assertIn("test:", requirements["JRPC-01"].text)
        self.assertEqual(requirements["SCH-T20"].section, "21. Schema-level rules (SCH)")
        self.assertEqual(len(lists.read_rulings()), 24)
        self.assertEqual(len(lists.read_field_cases()), 88)
        known = requirements.keys() | lists.read_field_cases().keys()
        for id, case in lists.read_wire_cases().items():
            self.assertTrue(known >= {id[:6], *case.get("req", [])}, id)


if __name__ == "__main__":
    unittest.main()
