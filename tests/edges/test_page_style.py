"""The pages on which people decide look alike, from one place."""

from __future__ import annotations

from assent.edges.approval_page import page_of
from assent.edges.client.web_form import told_page


def test_both_pages_carry_the_shared_rules_and_no_mark_of_where_they_go() -> None:
    for page in (page_of("a-1").decode(), told_page("Done", "It was done.", "nonce")):
        assert page.count(":root { color-scheme: light dark;") == 1
        assert page.count("summary { cursor: pointer; }") == 1
        assert "{{" not in page
