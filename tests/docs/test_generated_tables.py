"""Tables in the documentation are what the code says."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs.site.reference.hosts import answering_table, hosts_table

from assent.checks.lint.run import all_rules

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("page", "mark", "table"),
    [("hosts.md", "hosts", hosts_table()), ("hosts.md", "answering", answering_table())],
    ids=["hosts", "answering"],
)
def test_a_page_has_the_table_that_the_code_gives(page: str, mark: str, table: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    found = text.split(f"<!-- {mark} -->\n")[1].split(f"\n<!-- /{mark} -->")[0]
    assert found == table, f"put the table between the marks of docs/{page}"


def test_the_changelog_counts_the_rules() -> None:
    text = (DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"`assent lint` with {len(all_rules())} rules" in text
