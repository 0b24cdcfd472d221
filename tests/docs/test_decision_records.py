"""Every decision record is named by a file that it explains, and every number that is named has a record."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECORDS = {file.name[:4]: file for file in sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))}
CODE = [file for folder in ("src", "bench", "tests/support") for file in sorted((ROOT / folder).rglob("*.py"))]
PAGES = [ROOT / "CHANGELOG.md", ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def named_in(file: Path) -> set[str]:
    return set(re.findall(r"(?:ADR|adr/|\]\(|\[)\s*(0\d{3})(?=[-\W])", file.read_text("utf-8")))


def test_every_record_is_named_by_the_code_it_explains() -> None:
    assert set(RECORDS) - {number for file in CODE for number in named_in(file)} == set()


def test_every_number_that_is_named_has_a_record() -> None:
    assert {str(file): missing for file in CODE + PAGES if (missing := named_in(file) - set(RECORDS))} == {}
