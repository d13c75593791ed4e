"""Finds tests in source files and the requirement ids that they claim to prove.

A claim is a comment line `// proves: A, B` (Rust, JavaScript, TypeScript and the like) or `# proves: A, B` (Python) that
sits directly at a test: in the block of comments and attributes above it, or as the first lines of its body. A test's name
claims too: `fn life_03_…`, `def test_fc_017_…`, `test("LIFE-03 …")`. Tests that are switched off prove nothing.

A test is: a Rust function with a `test` attribute; a Python function named `test_…` or `check_…`, or decorated with
`@check(…)`; a JavaScript call of `test`, `it` or `check` at the start of a line.
"""
import pathlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

IGNORED = {"target", "node_modules", "dist", "build", "__pycache__", "corpus", "artifacts", "site-packages"}
PREFIXES = (
    "JRPC", "LIFE", "VER", "CAP", "DOWN", "STDIO", "SSE", "XPORT", "TIME", "CANC", "PROG", "PING", "PAGE", "RES", "TMPL", "SUB",
    "PROM", "TOOL", "LOG", "COMP", "SAMP", "ROOT", "SCH", "SEC", "FC",
)

_PROVES = re.compile(r"^\s*(?://|#)[/!]?\s*proves:\s*(.*)$")
_COMMENT = re.compile(r"^\s*(?://|/\*|\*)")
_PY_COMMENT = re.compile(r"^\s*#")
_RUST_FN = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?(?:unsafe\s+)?fn\s+(\w+)")
_RUST_TEST = re.compile(r"#\[\s*(?:\w+::)*(?:test|rstest|test_case|wasm_bindgen_test)\b")
_RUST_OFF = re.compile(r"#\[\s*ignore\b")
_CLOSING = re.compile(r"^[)\]]+$")
_PY_DEF = re.compile(r"^\s*(?:async\s+)?def\s+(\w+)")
_PY_CHECK = re.compile(r"^\s*@(?:\w+\.)?check\b", re.MULTILINE)
_PY_OFF = re.compile(r"@\s*[\w.]*(?:skip|xfail|expectedFailure)\w*(?:\b|\()")
_JS_TEST = re.compile(r"""^\s*(?:await\s+)?(?:\w+\.)?(?:test|it|check)((?:\.\w+)*)\s*\(\s*(["'`])(.*?)\2""")
_NAME_ID = re.compile(rf"(?:^|_)({'|'.join(p.lower() for p in PREFIXES)})_(t?\d{{2,3}})([a-z]?)(?=_|$)")
_TEXT_ID = re.compile(rf"\b(?:{'|'.join(PREFIXES)})-T?\d{{2,3}}[a-z]?\b")


@dataclass
class Test:
    """One test and the ids it claims."""

    place: str  # file:line
    name: str
    ids: list[str] = field(default_factory=list)
    off: bool = False


@dataclass
class Scan:
    """What was found in the sources."""

    tests: list[Test] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def source_files(root: pathlib.Path, folders: Sequence[str], endings: frozenset[str]) -> Iterator[pathlib.Path]:
    """Files under these folders of `root` with these endings, without what is built or installed."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            parts = path.relative_to(root).parts
            if path.suffix in endings and path.is_file() and not any(p in IGNORED or p.startswith(".") for p in parts):
                yield path


def ids_in_name(name: str) -> list[str]:
    """Ids in the name of a function: `sch_t20_content` holds SCH-T20."""
    return [f"{m[1].upper()}-{m[2].upper()}{m[3]}" for m in _NAME_ID.finditer(name)]


def scan_text(text: str, where: str, kind: str) -> Scan:
    """The tests in one file. `kind` is its ending: `.rs`, `.py`, or another for JavaScript and its like."""
    scan = Scan()
    lines = text.split("\n")
    claimed: set[int] = set()  # lines with a claim that belongs to a test
    for number, line in enumerate(lines):
        test = _test_at(lines, number, line, kind)
        if test is None:
            continue
        test.place = f"{where}:{number + 1}"
        for n in [*_above(lines, number, kind), *_first_in_body(lines, number, kind)]:
            if (claim := _PROVES.match(lines[n])) and n not in claimed:
                claimed.add(n)
                test.ids += _listed(claim[1], f"{where}:{n + 1}", scan)
        test.ids = list(dict.fromkeys(test.ids))
        scan.tests.append(test)
    for number, line in enumerate(lines):
        if _PROVES.match(line) and number not in claimed:
            scan.faults.append(f"{where}:{number + 1}: this line proves nothing, as no test stands directly at it: {line.strip()}")
    return scan


def _test_at(lines: Sequence[str], number: int, line: str, kind: str) -> Test | None:
    above = "\n".join(lines[n] for n in _above(lines, number, kind) if not _is_comment(lines[n], kind))
    if kind == ".rs":
        match = _RUST_FN.match(line)
        if match and _RUST_TEST.search(above):
            return Test("", match[1], ids_in_name(match[1]), bool(_RUST_OFF.search(above)))
    elif kind == ".py":
        match = _PY_DEF.match(line)
        if match and (match[1].startswith(("test_", "check_")) or _PY_CHECK.search(above)):
            return Test("", match[1], ids_in_name(match[1]), bool(_PY_OFF.search(above)))
    elif match := _JS_TEST.match(line):
        return Test("", match[3], _TEXT_ID.findall(match[3]), any(w in match[1] for w in (".skip", ".todo", ".failing")))
    return None


def _is_comment(line: str, kind: str) -> bool:
    return bool((_PY_COMMENT if kind == ".py" else _COMMENT).match(line))


def _above(lines: Sequence[str], number: int, kind: str) -> list[int]:
    """Numbers of the lines of comments, attributes and decorators directly above a line."""
    found: list[int] = []
    depth = 0  # brackets that an attribute of several lines leaves open, read upwards
    for n in range(number - 1, -1, -1):
        text = lines[n].strip()
        if not text:
            break
        if not _is_comment(text, kind):
            starts = text.startswith("@" if kind == ".py" else "#[")
            if not (starts or depth or _CLOSING.match(text)):
                break
            depth += sum(text.count(c) for c in ")]") - sum(text.count(c) for c in "([")
        found.append(n)
    return found[::-1]


def _first_in_body(lines: Sequence[str], number: int, kind: str) -> Iterator[int]:
    """Numbers of the comment lines that open the body of the test."""
    n = number
    while n < len(lines) and not lines[n].rstrip().endswith((":",) if kind == ".py" else ("{",)):
        if n - number > 5 or not lines[n].strip():
            return
        n += 1
    n += 1
    while n < len(lines) and _is_comment(lines[n], kind):
        yield n
        n += 1


def _listed(text: str, place: str, scan: Scan) -> list[str]:
    ids = [part.strip() for part in text.strip().rstrip(".").split(",")]
    bad = [id for id in ids if not _TEXT_ID.fullmatch(id)]
    scan.faults += [f"{place}: {id!r} is no id; write ids with commas between them, as in LIFE-03, FC-017" for id in bad]
    return [id for id in ids if id not in bad]
