"""Reads the project's lists: the requirements and the field cases. The other checks stand on this."""
import json
import pathlib
import re
from dataclasses import dataclass
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "docs" / "requirements.md"
CASES = ROOT / "tests" / "cases"

_SECTION = re.compile(r"^## (\d+)\. (.+)$")
_REQUIREMENT = re.compile(r"^- \*\*([A-Z]+-\d+)\*\* · ")
_TYPE_ROW = re.compile(r"^\| (SCH-T\d+) \| (.+) \|$")
_RULING = re.compile(r"^\| (\d+) \| (.+) \|$")
_COUNTS = re.compile(r"(\d+) numbered requirements, plus (\d+) type rows")
_CASE = re.compile(r"^### (FC-\d{3}) (.+)$")


class ListError(Exception):
    """A list of the project cannot be read; the text says where and why."""


@dataclass(frozen=True)
class Entry:
    """One requirement, type row or field case: its id, the section it stands in, and all its text."""

    id: str
    section: str
    text: str


def read_requirements(path: pathlib.Path = REQUIREMENTS) -> dict[str, Entry]:
    """The requirements and type rows by id, in the order of the list.

    Raises ListError for an id that stands twice, and where the numbers that the list states about itself are wrong.
    """
    found: dict[str, Entry] = {}
    section, open_id, stated = "", None, None
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        stated = stated or _COUNTS.search(line)
        if heading := _SECTION.match(line):
            section, open_id = f"{heading[1]}. {heading[2]}", None
        elif match := _REQUIREMENT.match(line) or _TYPE_ROW.match(line):
            if match[1] in found:
                raise ListError(f"{path}:{number}: {match[1]} stands twice; every id is used once")
            found[match[1]] = Entry(match[1], section, line)
            open_id = match[1] if line.startswith("-") else None
        elif open_id and line.startswith("  "):
            entry = found[open_id]
            found[open_id] = Entry(entry.id, entry.section, f"{entry.text}\n{line}")
        else:
            open_id = None
    rows = sum(id.startswith("SCH-T") for id in found)
    if stated is None or (int(stated[1]), int(stated[2])) != (len(found) - rows, rows):
        says = f"{stated[1]} requirements and {stated[2]} type rows" if stated else "nothing about its length"
        raise ListError(f"{path}: it says {says}, it has {len(found) - rows} and {rows}; mend section 0 or the list")
    return found


def read_rulings(path: pathlib.Path = REQUIREMENTS) -> dict[str, str]:
    """The rows of the section on conflicts and silences, by number."""
    section, rows = "", {}
    for line in path.read_text("utf-8").splitlines():
        if heading := _SECTION.match(line):
            section = heading[1]
        elif section == "23" and (match := _RULING.match(line)):
            rows[match[1]] = match[2]
    return rows


def read_field_cases(folder: pathlib.Path = CASES) -> dict[str, Entry]:
    """The field cases for people by id, `FC-001` and up."""
    found: dict[str, Entry] = {}
    section, open_id = "", None
    for line in (folder / "field-cases.md").read_text("utf-8").splitlines():
        if line.startswith("## "):
            section, open_id = line[3:], None
        elif match := _CASE.match(line):
            open_id = match[1]
            found[open_id] = Entry(open_id, section, line)
        elif open_id and line.strip():
            entry = found[open_id]
            found[open_id] = Entry(entry.id, entry.section, f"{entry.text}\n{line}")
    return found


def read_wire_cases(folder: pathlib.Path = CASES) -> dict[str, dict[str, Any]]:
    """The cases for machines by id, `FC-001a` and up."""
    entries: list[dict[str, Any]] = json.loads((folder / "field-cases.json").read_text("utf-8"))
    return {entry["id"]: entry for entry in entries}
