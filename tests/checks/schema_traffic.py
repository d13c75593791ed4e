#!/usr/bin/env python3
"""Checks captured traffic against the closed schema: schema_traffic.py [options] CAPTURE…

A CAPTURE is a file of JSON lines, or a folder of such files (*.jsonl). Two kinds of lines are understood:

- of the cases runner: {"from": "server" | "client", "under_test": bool, "revision", "session", "message" | "text"};
- of the tap of a transport: {"dir": "in" | "out", "t", "session", "frame" | "frame_hex"}; what went out is checked.

Every message that the software under test wrote must be a valid message of the revision, without a member that the
revision does not have. A result is checked as a result of the method of its request, so a capture must hold both
directions, and each connection a session name of its own within the file.
"""
import argparse
import collections
import functools
import json
import pathlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from jsonschema.validators import extend

SCHEMAS = pathlib.Path(__file__).resolve().parents[1] / "schema"
REVISION = "2024-11-05"

Message: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[str, str]  # JSON type and text of an id: 1 and "1" are different ids (JRPC-07)


class CaptureError(Exception):
    """A line of a capture is not of a known kind; the text says where and what it should be."""


class Unreadable(Exception):
    """The text is no JSON message."""


# -- the schema --------------------------------------------------------------------------------------------------------


def _is_integer(_: object, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)  # written 3, not 3.0 (SCH-06)


Validator = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator, type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer)
)


class Schema:
    """The closed schema of one revision: definitions by name, and which one a method means."""

    def __init__(self, path: pathlib.Path) -> None:
        self.definitions: dict[str, Message] = json.loads(path.read_text("utf-8"))["$defs"]
        self.requests = self._by_method("Request", "JSONRPC")
        self.notifications = self._by_method("Notification", "JSONRPC")

    def _by_method(self, ending: str, but: str) -> dict[str, str]:
        concrete = {n: d for n, d in self.definitions.items() if n.endswith(ending) and "properties" in d and not n.startswith(but)}
        return {d["properties"]["method"]["const"]: n for n, d in concrete.items()}

    def result_of(self, method: str) -> str:
        """Name of the definition of the method's result."""
        name = self.requests[method].removesuffix("Request") + "Result"
        return name if name in self.definitions else "EmptyResult"

    def may_send(self, role: str, name: str) -> bool:
        """Whether this side ("client" or "server") sends messages of this definition."""
        kind = "Request" if name.endswith("Request") else "Notification"
        return {"$ref": f"#/$defs/{name}"} in self.definitions[f"{role.capitalize()}{kind}"]["anyOf"]

    @functools.cache  # noqa: B019  one schema lives as long as the program
    def validator(self, name: str) -> Any:
        return Validator({"$ref": f"#/$defs/{name}", "$defs": self.definitions})

    def faults(self, name: str, value: object) -> list[str]:
        """What is wrong with the value as an instance of this definition."""
        error = best_match(self.validator(name).iter_errors(value))
        if error is None:
            return []
        place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.absolute_path).lstrip(".")
        return [f"{name}: {place or 'it'}: {error.message[:300]}"]


# -- captures ----------------------------------------------------------------------------------------------------------


@dataclass
class Item:
    """One line of a capture: who wrote what, and in which session."""

    where: str
    session: str
    under_test: bool
    role: str | None  # side that wrote it, if the line says so
    revision: str
    message: Any
    text: str
    unreadable: str | None = None


def parse(text: str) -> Any:
    def no_constant(name: str) -> Any:
        raise Unreadable(f"{name} is not JSON")

    try:
        return json.loads(text, parse_constant=no_constant)
    except (ValueError, RecursionError) as e:
        raise Unreadable(f"not JSON: {e}") from None


def items(path: pathlib.Path) -> Iterator[Item]:
    """The lines of one file. Raises CaptureError."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            where = f"{path}:{number}"
            try:
                entry = json.loads(line)
                yield _tapped(where, entry) if "dir" in entry else _captured(where, entry)
            except (ValueError, KeyError, TypeError, RecursionError) as e:
                raise CaptureError(f"{where}: no line of a capture ({e!r}): {line[:120].rstrip()}") from None


def _captured(where: str, entry: Message) -> Item:
    bad = None if "message" in entry else "not JSON"
    text = json.dumps(entry["message"], ensure_ascii=False) if bad is None else str(entry["text"])
    side = entry["from"]
    if side not in ("server", "client"):
        raise ValueError(f"from: {side}")
    return Item(where, str(entry["session"]), bool(entry["under_test"]), side, entry["revision"], entry.get("message"), text, bad)


def _tapped(where: str, entry: Message) -> Item:
    if entry["dir"] not in ("in", "out"):
        raise ValueError(f"dir: {entry['dir']}")
    item = Item(where, str(entry["session"]), entry["dir"] == "out", None, REVISION, None, "")
    if "frame_hex" in entry:
        item.text, item.unreadable = entry["frame_hex"], "not UTF-8"
        return item
    item.text = str(entry["frame"])
    try:
        item.message = parse(item.text.removeprefix("\ufeff"))
    except Unreadable as e:
        item.unreadable = str(e)
    return item


def key_of(id: object) -> Key:
    if isinstance(id, float) and id.is_integer():
        id = int(id)
    return (type(id).__name__, str(id))


@dataclass
class Session:
    """What must be known about a connection before its messages can be judged."""

    role: str | None = None  # side under test
    asked: dict[Key, list[str]] = field(default_factory=lambda: collections.defaultdict(list))  # methods by id of the peer's requests


def survey(path: pathlib.Path) -> dict[str, Session]:
    """First pass over a file: the peer's requests, and which side is under test."""
    sessions: dict[str, Session] = collections.defaultdict(Session)
    for item in items(path):
        session, message = sessions[item.session], item.message
        if item.under_test and item.role:
            session.role = item.role
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            continue
        if message["method"] == "initialize" and item.role is None and "id" in message:
            session.role = session.role or ("client" if item.under_test else "server")
        if "id" in message and not item.under_test:
            session.asked[key_of(message["id"])].append(message["method"])
    return sessions


# -- the check ---------------------------------------------------------------------------------------------------------


class Check:
    """Counts the messages checked and collects the faults."""

    def __init__(self, schema: Schema, extra_methods: Sequence[str] = ()) -> None:
        self.schema, self.extra = schema, set(extra_methods)
        self.counts: collections.Counter[str] = collections.Counter()
        self.faults: list[str] = []

    def file(self, path: pathlib.Path) -> None:
        sessions = survey(path)
        for item in items(path):
            if item.under_test:
                for fault in self.judge(item, sessions[item.session]):
                    self.faults.append(f"{item.where}: {fault}\n    {item.text[:500]}")

    def judge(self, item: Item, session: Session) -> list[str]:
        """Faults of one message of the software under test."""
        if item.unreadable:
            self.counts["unreadable"] += 1
            return [item.unreadable]
        if item.revision != REVISION:
            return [f"there is no closed schema of revision {item.revision!r}; add it to tests/schema and to this check"]
        message = item.message
        if not isinstance(message, dict):
            self.counts["unreadable"] += 1
            return ["a message is one JSON object (JRPC-01, JRPC-21)"]
        if "method" in message:
            return self._call(message, session)
        return self._response(message, session)

    def _call(self, message: Message, session: Session) -> list[str]:
        kind, known = ("Request", self.schema.requests) if "id" in message else ("Notification", self.schema.notifications)
        method = message["method"]
        name = known.get(method) if isinstance(method, str) else None
        if name is None:
            self.counts[f"other {kind}"] += 1
            if method not in self.extra:
                return [f"{REVISION} has no {kind.lower()} {method!r}"]
            return self.schema.faults(f"JSONRPC{kind}", message)
        self.counts[name] += 1
        faults = self.schema.faults(name, message)
        if session.role and not self.schema.may_send(session.role, name):
            faults.append(f"a {session.role} does not send {method!r}")
        return faults

    def _response(self, message: Message, session: Session) -> list[str]:
        id = message.get("id")
        if isinstance(id, float) and id.is_integer():
            message = message | {"id": int(id)}  # 1.0 may come back as it came (JRPC-03)
        if "error" in message:
            self.counts["JSONRPCError"] += 1
            return self.schema.faults("JSONRPCError", message)
        if faults := self.schema.faults("JSONRPCResponse", message):
            self.counts["JSONRPCResponse"] += 1
            return faults
        methods = session.asked.get(key_of(id), [])
        if not methods:
            self.counts["JSONRPCResponse"] += 1
            return ["the capture holds no request that this result answers"]
        tries = [self._result(method, message["result"]) for method in methods]  # an id may be used twice (JRPC-05)
        name, faults = next((t for t in tries if not t[1]), tries[0])
        self.counts[name] += 1
        return faults

    def _result(self, method: str, result: object) -> tuple[str, list[str]]:
        if method in self.schema.requests:
            name = self.schema.result_of(method)
            return name, self.schema.faults(name, result)
        if method in self.extra:
            return "other Result", []
        return "other Result", [f"{REVISION} has no request {method!r}, so it has no result"]


def files_of(captures: Sequence[str]) -> list[pathlib.Path]:
    paths: list[pathlib.Path] = []
    for capture in map(pathlib.Path, captures):
        found = sorted(capture.rglob("*.jsonl")) if capture.is_dir() else [capture]
        if not found or not all(p.is_file() for p in found):
            raise CaptureError(f"{capture}: there is no capture; run what writes it first")
        paths += found
    return paths


# proves: SCH-02, JRPC-21
def check_traffic(captures: Sequence[str], extra_methods: Sequence[str] = ()) -> tuple[Check, int]:
    """Checks all these files and folders; the second part of the answer is the number of files. Raises CaptureError."""
    check = Check(Schema(SCHEMAS / f"{REVISION}.closed.json"), extra_methods)
    paths = files_of(captures)
    for path in paths:
        check.file(path)
    return check, len(paths)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="schema_traffic.py", description="Checks captured traffic against the closed schema.")
    parser.add_argument("captures", nargs="+", metavar="CAPTURE", help="file of JSON lines, or folder of *.jsonl files")
    parser.add_argument("--extra-method", action="append", default=[], metavar="NAME", help="a method of the application's own: only its envelope is checked")
    parser.add_argument("--quiet", action="store_true", help="no count of each definition")
    args = parser.parse_args(argv)
    try:
        check, files = check_traffic(args.captures, args.extra_method)
    except CaptureError as e:
        print(e)
        return 2
    if not args.quiet:
        for name, count in sorted(check.counts.items()):
            print(f"{count:8} {name}")
    for fault in check.faults:
        print(f"FAULT {fault}")
    total = check.counts.total()
    print(f"schema {REVISION}: {total} messages in {files} captures, {len(check.faults)} faults")
    if total == 0:
        print("no message was checked; the captures hold nothing that the software under test wrote")
    return 1 if check.faults or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
