#!/usr/bin/env python3
"""Requirement coverage: which ids of docs/requirements.md are proven by a test or a case, and which are not.

A test proves what it claims (see sources.py). A wire case of tests/cases proves the ids in its `req` and its own FC id, if
its transport is one that the project has. What cannot be shown here stands with its reason in docs/coverage-exceptions.md.
"""
import argparse
import collections
import pathlib
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import lists
import sources

EXCEPTIONS = "docs/coverage-exceptions.md"
FOLDERS = ("core", "bindings-python", "bindings-node", "bindings-c", "bindings-uniffi", "demo", "tests")
ENDINGS = frozenset({".rs", ".py", ".mjs", ".js", ".ts", ".mts", ".c", ".cpp", ".swift", ".kt"})
NOT_SCANNED = ("tests/cases", "tests/bench")  # the cases claim by their `req`; the bench measures
TRANSPORTS = ("stdio", "sse")  # of the wire cases that are run

_EXCEPTION = re.compile(r"^\| *`?([A-Z]+-(?:T?\d+|\*))`? *\| *(.+?) *\|$")


@dataclass
class Coverage:
    """Who proves what, and what is wrong with the claims."""

    requirements: dict[str, lists.Entry]
    cases: dict[str, lists.Entry]
    proven: dict[str, list[str]] = field(default_factory=lambda: collections.defaultdict(list))
    excepted: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def claim(self, id: str, by: str) -> None:
        """Counts one proof. `FC-017a` counts for its case FC-017."""
        known = re.sub(r"(?<=\d)[a-z]$", "", id) if id.startswith("FC-") else id
        if known in self.requirements or known in self.cases:
            self.proven[known].append(by)
        else:
            self.faults.append(f"{by}: {id} is unknown; the ids are in docs/requirements.md and tests/cases/field-cases.md")

    def state(self, id: str) -> str:
        """'proven', 'excepted' or 'missing'."""
        return "proven" if self.proven.get(id) else "excepted" if id in self.excepted else "missing"

    def missing(self) -> list[str]:
        return [id for id in self.requirements if self.state(id) == "missing"]

    def outdated(self) -> list[str]:
        """Exceptions for single ids that have a proof by now."""
        return [id for id in self.excepted if self.proven.get(id) and not self.excepted[id].startswith("(all) ")]


def gather(root: pathlib.Path = lists.ROOT) -> Coverage:
    """Reads lists, exceptions, cases and sources of the project at `root`."""
    folder = root / "tests" / "cases"
    coverage = Coverage(lists.read_requirements(root / "docs" / "requirements.md"), lists.read_field_cases(folder))
    read_exceptions(root / EXCEPTIONS, coverage)
    for id, case in lists.read_wire_cases(folder).items():
        if case["transport"] in TRANSPORTS:
            for proven in [id, *case.get("req", [])]:
                coverage.claim(proven, f"tests/cases {id}")
    for path in sources.source_files(root, FOLDERS, ENDINGS):
        where = path.relative_to(root).as_posix()
        if not where.startswith(tuple(f"{n}/" for n in NOT_SCANNED)):
            scan = sources.scan_text(path.read_text("utf-8", "replace"), where, path.suffix)
            coverage.faults += scan.faults
            for test in scan.tests:
                for id in [] if test.off else test.ids:
                    coverage.claim(id, f"{test.place} {test.name}")
    return coverage


def read_exceptions(path: pathlib.Path, coverage: Coverage) -> None:
    """Rows `| id | reason |`; `SSE-*` stands for all ids that begin so."""
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        match = _EXCEPTION.match(line)
        if not match:
            continue
        id, reason = match[1], match[2]
        every = id.endswith("*")
        ids = [known for known in coverage.requirements if known.startswith(id[:-1])] if every else [id]
        if not ids or not all(known in coverage.requirements for known in ids):
            coverage.faults.append(f"{EXCEPTIONS}:{number}: {id} is unknown; the ids are in docs/requirements.md")
        coverage.excepted.update((known, f"(all) {reason}" if every else reason) for known in ids)


# -- what is printed ---------------------------------------------------------------------------------------------------


def print_sections(title: str, entries: Mapping[str, lists.Entry], coverage: Coverage) -> None:
    sections: dict[str, list[str]] = collections.defaultdict(list)
    for id, entry in entries.items():
        sections[entry.section].append(id)
    print(title)
    for section, ids in sections.items():
        states = collections.Counter(coverage.state(id) for id in ids)
        print(f"  {section}: {len(ids)} ids, {states['proven']} proven, {states['excepted']} excepted, {states['missing']} missing")
        reasons: dict[str, list[str]] = collections.defaultdict(list)
        for id in ids:
            if coverage.state(id) == "excepted":
                reasons[coverage.excepted[id].removeprefix("(all) ")].append(id)
        for reason, group in reasons.items():
            print(f"      excepted {shortened(group)}: {reason}")
        if missing := [id for id in ids if coverage.state(id) == "missing"]:
            print(f"      missing {', '.join(missing)}")


def shortened(ids: Sequence[str]) -> str:
    return ", ".join(ids) if len(ids) <= 6 else f"{ids[0]} … {ids[-1]} ({len(ids)})"


def print_proofs(id: str, coverage: Coverage) -> int:
    entry = coverage.requirements.get(id) or coverage.cases.get(id)
    if entry is None:
        print(f"{id} is unknown; the ids are in docs/requirements.md and tests/cases/field-cases.md")
        return 2
    print(entry.text)
    for by in coverage.proven.get(id, []):
        print(f"  proven by {by}")
    if not coverage.proven.get(id):
        print(f"  excepted: {coverage.excepted[id]}" if id in coverage.excepted else "  proven by nothing")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="coverage.py", description="Requirement coverage of the project's tests.")
    parser.add_argument("--strict", action="store_true", help="fail when an id is neither proven nor excepted, or a claim or an exception is wrong")
    parser.add_argument("--proven-by", metavar="ID", help="show what proves this id")
    parser.add_argument("--root", type=pathlib.Path, default=lists.ROOT, help="the project (default: this one)")
    args = parser.parse_args(argv)
    try:
        coverage = gather(args.root)
    except (lists.ListError, FileNotFoundError) as e:
        print(e)
        return 2
    if args.proven_by:
        return print_proofs(args.proven_by, coverage)
    print_sections("Requirements", coverage.requirements, coverage)
    print_sections("Field cases (reported only; many need a host language or a fault that has to be made)", coverage.cases, coverage)
    outdated = [f"{EXCEPTIONS}: {id} is proven by now: {coverage.proven[id][0]}; take its row out" for id in coverage.outdated()]
    for fault in [*coverage.faults, *outdated]:
        print(f"FAULT {fault}")
    states = collections.Counter(coverage.state(id) for id in coverage.requirements)
    cases = sum(coverage.state(id) == "proven" for id in coverage.cases)
    print(
        f"coverage: {len(coverage.requirements)} requirements, {states['proven']} proven, {states['excepted']} excepted, "
        f"{states['missing']} missing; {cases} of {len(coverage.cases)} field cases; {len(coverage.faults)} wrong claims"
    )
    return 1 if coverage.faults or (args.strict and (coverage.missing() or outdated)) else 0


if __name__ == "__main__":
    sys.exit(main())
