"""Limits on the size and shape of the source. Raising one needs a reason in the commit; lowering one needs none."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"

# The path of one governed write (`python -m bench.trace_call`).
FILES_OF_A_WRITE = 50
PACKAGE_SWITCHES_OF_A_WRITE = 60
# The whole source.
LINES = 90_450
FILES = 633
TRUSTED_CORE_LINES = 5_000
# One module.
IMPORTS_OF_THE_APP = 20
IMPORTS_OF_A_MODULE = 25
MODULES_WITH_ONE_IMPORTER = 113
LONGEST_FILE = 650
LONGEST_FUNCTION = 86
LONG_FILES = ("assent/audit/verifier.py",)
"""The verifier is one file on purpose: an auditor can read and run it alone."""
SHARED_CLASS_NAMES = {"Answer", "Assent", "Finding", "OneOf"}
"""Names that users import or read in `/api/openapi.json`."""
# Decision records.
RECORDS = 60
RECORDS_IN_ANOTHER_FORM = 0

Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(file: Path) -> str:
    """The dotted name of a module."""
    return ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


@cache
def modules() -> dict[str, ast.Module]:
    return {name_of(file): ast.parse(file.read_text("utf-8")) for file in sorted(SOURCE.rglob("*.py"))}


@cache
def imports() -> dict[str, frozenset[str]]:
    """The modules of ours that each module imports, anywhere in it."""
    return {name: frozenset(_imported(tree)) - {name} for name, tree in modules().items()}


def _imported(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names if one.name in modules()}
        elif isinstance(node, ast.ImportFrom) and node.module in modules():
            inner = {f"{node.module}.{one.name}" for one in node.names}
            found |= inner & modules().keys() or {node.module}
    return found


def line_count(file: Path) -> int:
    return len(file.read_text("utf-8").splitlines())


def test_a_governed_write_visits_few_files_and_packages() -> None:
    traced = subprocess.run(
        [sys.executable, "-m", "bench.trace_call"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    found = re.search(r"^(\d+) files .* (\d+) package switches$", traced.stdout, re.MULTILINE)
    assert found is not None, traced.stdout
    assert int(found[1]) <= FILES_OF_A_WRITE
    assert int(found[2]) <= PACKAGE_SWITCHES_OF_A_WRITE


def test_the_source_stays_small() -> None:
    files = list(SOURCE.rglob("*.py"))
    assert len(files) <= FILES
    assert sum(map(line_count, files)) <= LINES


def test_the_trusted_core_stays_small() -> None:
    page = (ROOT / "docs" / "trusted-core.md").read_text("utf-8")
    named = {name for name in re.findall(r"`([a-z_/]+/[a-z_]+\.py)`", page) if "postgres" not in name}
    assert len(named) > 20
    assert sum(line_count(SOURCE / "assent" / name) for name in named) <= TRUSTED_CORE_LINES


def test_the_app_of_the_gateway_wires_few_modules() -> None:
    assert len(imports()["assent.gateway.app"]) <= IMPORTS_OF_THE_APP


def test_no_module_imports_too_many_others() -> None:
    many = {name: len(found) for name, found in imports().items() if len(found) > IMPORTS_OF_A_MODULE}
    assert many == {}


def test_few_modules_exist_for_one_importer() -> None:
    importers = Counter(one for found in imports().values() for one in found)
    assert sum(count == 1 for count in importers.values()) <= MODULES_WITH_ONE_IMPORTER


def test_files_and_functions_stay_short() -> None:
    files = {str(file.relative_to(SOURCE)): line_count(file) for file in SOURCE.rglob("*.py")}
    assert {name: size for name, size in files.items() if size > LONGEST_FILE and name not in LONG_FILES} == {}
    functions = {
        f"{module}.{node.name}": (node.end_lineno or 0) - node.lineno + 1
        for module, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, Function)
    }
    assert {name: size for name, size in functions.items() if size > LONGEST_FUNCTION} == {}


def test_a_class_has_a_name_of_its_own() -> None:
    classes = (node.name for tree in modules().values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    counts = Counter(name for name in classes if not name.startswith("_"))
    assert {name for name, count in counts.items() if count > 1} == SHARED_CLASS_NAMES


@pytest.fixture
def records() -> list[Path]:
    return sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))


def test_decision_records_have_unique_numbers(records: list[Path]) -> None:
    numbers = Counter(file.name[:4] for file in records)
    assert [number for number, count in numbers.items() if count > 1] == []
    assert len(records) <= RECORDS


def test_decision_records_have_one_form(records: list[Path]) -> None:
    form = re.compile(r"# (\d{4}) [^\n]+\n\n\*\*Context\.\*\* .*\n\*\*Decision\.\*\*.*\n\*\*Revisit if\*\*", re.DOTALL)
    other = [file.name for file in records if (found := form.match(file.read_text("utf-8"))) is None
             or found[1] != file.name[:4]]  # fmt: skip
    assert len(other) <= RECORDS_IN_ANOTHER_FORM, other
