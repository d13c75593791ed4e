#!/usr/bin/env python3
"""Compares the project's lists and schema with an optional folder `../shared` beside the project.

The project stands alone; where the folder is there, this reports what is new or different in it: requirements, field
cases, and the official schema of the revision. Differences of the schema that were decided are listed below with their
reasons; any other is a fault. New and different texts are only reported, as the project may have mended its own.
"""
import argparse
import json
import pathlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import lists

Shape: TypeAlias = dict[str, Any]

CLOSED = lists.ROOT / "tests" / "schema" / "2024-11-05.closed.json"

# Definitions that only one side has, on purpose.
ONLY_OFFICIAL = {
    "Annotated": "a base; its member stands in each type that has it (SCH-05)",
    "Notification": "a base of the concrete notifications",
    "PaginatedRequest": "a base of the four paged requests",
    "PaginatedResult": "a base of the four paged results",
    "Request": "a base of the concrete requests",
    "ResourceContents": "a base of the text and blob forms (SCH-07)",
}
ONLY_OURS = {
    "Annotations": "one definition for what the official file repeats (SCH-05)",
    "Base64": "alphabet and padding are checked (RES-04)",
    "ExperimentalCapabilities": "one definition for both sides (CAP-04)",
    "Meta": "one definition for notifications and results (SCH-04)",
    "RequestMeta": "one definition for all requests (PROG-03)",
    "Uri": "absolute URIs only (RES-17)",
}
# Differences within definitions, as the end of the line that reports them.
DECIDED = {
    "Request: member jsonrpc is only here": "ours are whole messages",
    "Request: member id is only here": "ours are whole messages",
    "Request: required jsonrpc is only here": "ours are whole messages",
    "Request: required id is only here": "ours are whole messages",
    "Notification: member jsonrpc is only here": "ours are whole messages",
    "Notification: required jsonrpc is only here": "ours are whole messages",
    ".params: member _meta is only here": "derived messages hide it in the official file (SCH-04, PROG-03)",
    "Request: member params is only here": "every params may hold _meta (SCH-04)",
    "JSONRPCError.id: choice null is only here": "the answer to what has no readable id (JRPC-18)",
    "Result: choice EmptyResult is only here": "the closed form of Result (SCH-T05)",
    "Result: choice Result is only there": "the closed form is EmptyResult (SCH-T05)",
}
LEAF = ("type", "const", "enum", "format", "minimum", "maximum")


# -- texts -------------------------------------------------------------------------------------------------------------


def compare_texts(kind: str, here: Mapping[str, str], there: Mapping[str, str]) -> list[str]:
    """One line for each id that is new, missing or different in the other list."""
    lines = [f"{kind} {id} is new there: {text.splitlines()[0][:200]}" for id, text in there.items() if id not in here]
    lines += [f"{kind} {id} is only here" for id in here if id not in there]
    for id in here.keys() & there.keys():
        ours, theirs = here[id].splitlines(), there[id].splitlines()
        if ours != theirs:
            n = next((i for i, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), min(len(ours), len(theirs)))
            pick = [x[n][:200] if n < len(x) else "(no such line)" for x in (ours, theirs)]
            lines.append(f"{kind} {id} differs in line {n + 1}\n    here:  {pick[0]}\n    there: {pick[1]}")
    return sorted(lines)


def compare_lists(shared: pathlib.Path) -> list[str]:
    """Requirements, rulings and cases against those in `shared`; parts that are not there are left out."""
    lines: list[str] = []
    requirements = shared / "spec" / "requirements-2024-11-05.md"
    if requirements.exists():
        ours, theirs = lists.read_requirements(), lists.read_requirements(requirements)
        lines += compare_texts("requirement", texts(ours), texts(theirs))
        lines += compare_texts("ruling", lists.read_rulings(), lists.read_rulings(requirements))
    if (shared / "cases" / "field-cases.md").exists():
        lines += compare_texts("field case", texts(lists.read_field_cases()), texts(lists.read_field_cases(shared / "cases")))
    if (shared / "cases" / "field-cases.json").exists():
        ours_wire, theirs_wire = lists.read_wire_cases(), lists.read_wire_cases(shared / "cases")
        lines += compare_texts("wire case", as_text(ours_wire), as_text(theirs_wire))
    return lines


def texts(entries: Mapping[str, lists.Entry]) -> dict[str, str]:
    return {id: entry.text for id, entry in entries.items()}


def as_text(cases: Mapping[str, Shape]) -> dict[str, str]:
    return {id: json.dumps(case, sort_keys=True) for id, case in cases.items()}


# -- the schema --------------------------------------------------------------------------------------------------------


class Definitions:
    """A schema file, looked at as members, required members, choices and leaves; whether objects are open is left out."""

    def __init__(self, schema: Shape) -> None:
        self.all: dict[str, Shape] = schema.get("$defs") or schema["definitions"]

    @staticmethod
    def name(shape: Any) -> str | None:
        """Name of the definition that this reference means; None if it is no reference."""
        return shape["$ref"].rsplit("/", 1)[1] if isinstance(shape, dict) and "$ref" in shape else None

    def resolve(self, shape: Any) -> Shape:
        while name := self.name(shape):
            shape = self.all[name]
        return shape if isinstance(shape, dict) else {}

    def choices(self, shape: Shape) -> list[str] | None:
        """Names of the choices, a plain type under its own; None if there is only one."""
        found = shape.get("anyOf") or shape.get("oneOf")
        return [self.name(s) or s.get("type", "?") for s in found] if found else None

    def leaf(self, shape: Shape) -> Shape:
        out = {k: sorted(shape[k]) if k == "enum" else shape[k] for k in LEAF if k in shape}
        if "const" in out or "enum" in out:
            out.pop("type", None)
        if isinstance(out.get("type"), list):
            out["type"] = sorted(out["type"])
        return out

    def values(self, shape: Shape) -> Shape:
        """What the members of a map must be; {} for anything."""
        more = shape.get("additionalProperties")
        return more if isinstance(more, dict) else {}


def compare_schemas(ours: Definitions, official: Definitions) -> list[str]:
    """Every difference that is not in DECIDED, ONLY_OURS or ONLY_OFFICIAL."""
    lines = [f"definition {n} is only there" for n in official.all if n not in ours.all and n not in ONLY_OFFICIAL]
    lines += [f"definition {n} is only here" for n in ours.all if n not in official.all and n not in ONLY_OURS]
    for name in official.all:
        if name in ours.all:
            lines += differences(name, ours, ours.all[name], official, official.all[name])
    return [line for line in lines if not any(line.endswith(end) for end in DECIDED)]


def differences(where: str, ours: Definitions, here: Any, official: Definitions, there: Any) -> Iterator[str]:
    if ours.name(here) and ours.name(here) == official.name(there):
        return  # compared under its own name
    here, there = ours.resolve(here), official.resolve(there)
    choices = ours.choices(here), official.choices(there)
    if choices[0] or choices[1]:
        yield from compare_names(where, "choice", choices[0] or _alone(there), choices[1] or _alone(there))
        return
    if (a := ours.leaf(here)) != (b := official.leaf(there)):
        yield f"{where}: here {json.dumps(a)}, there {json.dumps(b)}"
    members = here.get("properties", {}), there.get("properties", {})
    yield from compare_names(where, "member", members[0], members[1])
    yield from compare_names(where, "required", here.get("required", []), there.get("required", []))
    for name in members[0].keys() & members[1].keys():
        yield from differences(f"{where}.{name}", ours, members[0][name], official, members[1][name])
    if "items" in here or "items" in there:
        yield from differences(f"{where}[]", ours, here.get("items", {}), official, there.get("items", {}))
    if values := official.values(there):
        yield from differences(f"{where}{{}}", ours, ours.values(here), official, values)


def _alone(there: Shape) -> list[str]:
    """A union against something that is none: the official file's id is one definition."""
    return ["RequestId"] if there.get("type") == ["string", "integer"] else ["?"]


def compare_names(where: str, what: str, here: Sequence[str] | Shape, there: Sequence[str] | Shape) -> Iterator[str]:
    yield from (f"{where}: {what} {n} is only here" for n in here if n not in there)
    yield from (f"{where}: {what} {n} is only there" for n in there if n not in here)


# -- the program -------------------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="against_shared.py", description="Compares with an optional sibling folder.")
    parser.add_argument("--shared", type=pathlib.Path, default=lists.ROOT.parent / "shared", help="the folder (default: ../shared)")
    parser.add_argument("--strict", action="store_true", help="new and different texts are faults too")
    args = parser.parse_args(argv)
    if not args.shared.is_dir():
        print("against_shared: there is no ../shared beside the project; nothing to compare")
        return 0
    try:
        reports = compare_lists(args.shared)
    except lists.ListError as e:
        print(e)
        return 2
    faults: list[str] = []
    official = args.shared / "spec" / "schema" / "2024-11-05.json"
    if official.exists():
        ours, theirs = (Definitions(json.loads(path.read_text("utf-8"))) for path in (CLOSED, official))
        faults = compare_schemas(ours, theirs)
    for line in reports:
        print(f"note: {line}")
    for line in faults:
        print(f"FAULT schema: {line}")
    compared = "compared" if official.exists() else "not there"
    print(f"against_shared: {len(reports)} texts new or different, official schema {compared}, {len(faults)} faults")
    return 1 if faults or (args.strict and reports) else 0


if __name__ == "__main__":
    sys.exit(main())
