"""Every test that the page of evidence names exists."""

from __future__ import annotations

import re

from support.clients.transports import ROOT


def test_every_test_that_the_page_names_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)`", (ROOT / "docs" / "evidence.md").read_text("utf-8"))
    assert len(named) > 40
    assert [path for path in named if not (ROOT / path).is_file()] == []


def test_no_row_of_a_risk_is_without_evidence_or_a_word_that_it_is_not_covered() -> None:
    rows = re.findall(r"^\| ((?:MCP|ASI)\d\d .+)$", (ROOT / "docs" / "evidence.md").read_text("utf-8"), re.M)
    assert len(rows) == 20
    assert [row for row in rows if "tests/" not in row and "Not covered" not in row] == []
