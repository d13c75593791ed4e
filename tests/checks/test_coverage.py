"""Tests of the requirement coverage: what counts as a proof, and each fault planted."""
import json
import unittest
from typing import Any

import coverage
import sources
from in_folder import Folder

PROVES = "proves" + ":"  # not in one piece, so that the scan of this file does not take the planted claims for its own


class Sources(unittest.TestCase):
    def claims(self, text: str, kind: str = ".rs") -> dict[str, list[str]]:
        scan = sources.scan_text(text.replace("CLAIM:", PROVES), "f", kind)
        self.assertEqual(scan.faults, [])
        return {t.name: t.ids for t in scan.tests if not t.off}

    def faults(self, text: str, kind: str = ".rs") -> list[str]:
        return sources.scan_text(text.replace("CLAIM:", PROVES), "f", kind).faults

    def test_rust(self) -> None:
        self.assertEqual(self.claims("    // CLAIM: LIFE-03, FC-017\n    #[test]\n    fn a() {\n"), {"a": ["LIFE-03", "FC-017"]})
        self.assertEqual(self.claims("#[tokio::test(\n    flavor = \"x\",\n)]\n/// Text.\n// CLAIM: SCH-T20\nasync fn a() {\n"), {"a": ["SCH-T20"]})
        self.assertEqual(self.claims("#[test]\nfn a() {\n    // CLAIM: SEC-01\n    // CLAIM: SEC-02\n    x();\n"), {"a": ["SEC-01", "SEC-02"]})
        self.assertEqual(self.claims("#[test]\nfn sch_t20_and_life_03_x() {\n"), {"sch_t20_and_life_03_x": ["SCH-T20", "LIFE-03"]})
        self.assertEqual(self.claims("fn life_03_helper() {}\n#[cfg(test)]\nfn life_04_helper() {}\n"), {})
        self.assertEqual(self.claims("#[test]\n#[ignore]\nfn life_03_x() {\n"), {})

    def test_python(self) -> None:
        self.assertEqual(self.claims("    # CLAIM: LIFE-03\n    def test_a(self) -> None:\n", ".py"), {"test_a": ["LIFE-03"]})
        self.assertEqual(self.claims("# CLAIM: LIFE-03\n@check(\"x\")\nasync def a():\n", ".py"), {"a": ["LIFE-03"]})
        self.assertEqual(self.claims("async def test_fc_017_x():\n    # CLAIM: SEC-01\n    pass\n", ".py"), {"test_fc_017_x": ["FC-017", "SEC-01"]})
        self.assertEqual(self.claims("@unittest.skip(\"x\")\ndef test_fc_017():\n", ".py"), {})

    def test_javascript(self) -> None:
        text = "// CLAIM: LIFE-03\ntest('LIFE-04 is kept', async () => {\n});\n  // CLAIM: SEC-01\n  it(`x`, () => {\nit.skip('SEC-02', () => {\n"
        self.assertEqual(self.claims(text, ".mjs"), {"LIFE-04 is kept": ["LIFE-04", "LIFE-03"], "x": ["SEC-01"]})

    def test_claims_that_stand_at_no_test(self) -> None:
        for kind, text in (
            (".rs", "// CLAIM: LIFE-03\nfn helper() {\n"), (".rs", "// CLAIM: LIFE-03\n\n#[test]\nfn a() {\n"),
            (".rs", "#[test]\nfn a() {\n    x();\n    // CLAIM: LIFE-03\n"), (".rs", "// CLAIM: LIFE-03\nmod tests {\n"),
            (".py", "# CLAIM: LIFE-03\ndef helper():\n"), (".py", "# CLAIM: LIFE-03\nclass A:\n    def test_a(self):\n"),
            (".mjs", "// CLAIM: LIFE-03\nhelper('x', () => {\n"),
        ):
            with self.subTest(text=text):
                self.assertEqual(len(self.faults(text, kind)), 1)

    def test_claims_that_name_no_id(self) -> None:
        for text in ("LIFE-3", "LIFE-03 FC-017", "LIFE-03,", "", "TMPL-01…"):
            with self.subTest(text=text):
                self.assertTrue(self.faults(f"// CLAIM: {text}\n#[test]\nfn a() {{\n"))


class Coverage(Folder):
    """A small project with its own lists."""

    def setUp(self) -> None:
        super().setUp()
        self.write(
            "docs/requirements.md",
            "3 numbered requirements, plus 1 type rows\n## 3. Lifecycle (LIFE)\n- **LIFE-01** · MUST · x — a.\n  test: b\n- **LIFE-02** · MUST · x — a.\n"
            "## 8. HTTP (SSE)\n- **SSE-01** · MUST · x — a.\n## 21. Schema (SCH)\n| SCH-T01 | Tool | name |\n",
        )
        self.write("docs/coverage-exceptions.md", "| id | reason |\n|---|---|\n| SSE-* | not part yet |\n")
        self.write("tests/cases/field-cases.md", "## A. x\n### FC-001 Title\n- rule: x\n### FC-002 Title\n")
        self.case(transport="stdio", req=["LIFE-02"])
        self.source(f"// {PROVES} LIFE-01\n#[test]\nfn sch_t01_x() {{}}\n")

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def case(self, **members: Any) -> None:
        self.write("tests/cases/field-cases.json", json.dumps([{"id": "FC-001a"} | members]))

    def source(self, text: str) -> None:
        self.write("core/src/a.rs", text)

    def run_it(self, *argv: str) -> tuple[int, str]:
        return self.printed(coverage.main, "--root", str(self.folder), *argv)

    def test_all_is_proven(self) -> None:
        code, out = self.run_it("--strict")
        self.assertEqual(code, 0, out)
        self.assertIn("4 requirements, 3 proven, 1 excepted, 0 missing; 1 of 2 field cases", out)
        self.assertIn("excepted SSE-01: not part yet", out)

    def test_a_missing_id(self) -> None:
        self.source("#[test]\nfn life_01_x() {}\n")
        code, out = self.run_it()
        self.assertEqual(code, 0)
        self.assertIn("missing SCH-T01", out)
        self.assertEqual(self.run_it("--strict")[0], 1)

    def test_a_case_of_a_transport_that_is_not_there_proves_nothing(self) -> None:
        self.case(transport="pigeon", req=["LIFE-02"])
        self.assertEqual(self.run_it("--strict")[0], 1)

    def test_unknown_ids(self) -> None:
        self.case(transport="stdio", req=["LIFE-02", "LIFE-77"])
        self.assertIn("LIFE-77 is unknown", self.run_it()[1])
        self.assertEqual(self.run_it()[0], 1)
        self.case(transport="stdio", req=["LIFE-02"])
        for text in (f"// {PROVES} LIFE-99\n#[test]\nfn a() {{}}\n", "#[test]\nfn life_99_x() {}\n", f"// {PROVES} FC-003\n#[test]\nfn a() {{}}\n"):
            self.source(text)
            self.assertEqual(self.run_it()[0], 1)

    def test_exceptions_that_are_wrong(self) -> None:
        self.write("docs/coverage-exceptions.md", "| SSE-* | not part yet |\n| LIFE-01 | cannot be shown |\n")
        self.assertEqual(self.run_it()[0], 0)
        code, out = self.run_it("--strict")
        self.assertEqual(code, 1)
        self.assertIn("LIFE-01 is proven by now", out)
        self.write("docs/coverage-exceptions.md", "| SSE-* | not part yet |\n| NO-01 | x |\n")
        self.assertEqual(self.run_it()[0], 1)

    def test_what_is_built_or_installed_is_not_read(self) -> None:
        self.write("core/target/x.rs", "#[test]\nfn life_99_x() {}\n")
        self.write("tests/interop/node_modules/a/x.mjs", "test('LIFE-99', () => {})\n")
        self.write("tests/.venv/x.py", "def test_life_99():\n")
        self.assertEqual(self.run_it("--strict")[0], 0)

    def test_proven_by(self) -> None:
        code, out = self.run_it("--proven-by", "LIFE-01")
        self.assertEqual(code, 0)
        self.assertIn("proven by core/src/a.rs:3 sch_t01_x", out)
        self.assertIn("tests/cases FC-001a", self.run_it("--proven-by", "FC-001")[1])
        self.assertIn("excepted: ", self.run_it("--proven-by", "SSE-01")[1])
        self.assertEqual(self.run_it("--proven-by", "NO-01")[0], 2)

    def test_a_list_whose_numbers_are_wrong(self) -> None:
        self.write("docs/requirements.md", "5 numbered requirements, plus 1 type rows\n## 3. x\n- **LIFE-01** · MUST\n")
        self.assertEqual(self.run_it()[0], 2)


if __name__ == "__main__":
    unittest.main()
