"""No way of writing an address or a link leads past the allowed domains."""

from __future__ import annotations

from typing import Any

import pytest

from assent.rules.guards.rules.allow_domains import AllowDomains

RULE = AllowDomains(domains=("example.com",))


@pytest.mark.parametrize(
    "text",
    [
        "ann@example.com",
        "Ann <ann@mail.example.com>, bob@EXAMPLE.com.",
        "https://example.com/a?b=c",
        "https://ann@example.com:8443/",
        "mailto:ann@example.com?subject=hello",
        "no address at all: 1/2",
    ],
)
def test_what_stays_within_is_allowed(text: str) -> None:
    assert RULE.denies({"text": text}) is None


@pytest.mark.parametrize(
    "text",
    [
        "ann@evil.org",
        "ann@notexample.com",
        "mailto:ann@evil.org?subject=.example.com",
        "ann@evil.org/.example.com",
        "ann@evil.org%.example.com",
        "ann@evil.org:.example.com",
        "ann@[192.0.2.1]",
        "ann@(a comment)evil.org",
        "ann＠evil.org",
        "https://evil.org/.example.com",
        "https://example.com@evil.org",
        "https://example.com\\@evil.org",
        "https:evil.org",
        "HTTPS:/evil.org/.example.com",
    ],
)
@pytest.mark.parametrize("wrap", [lambda text: text, lambda text: [{"deep": text}], lambda text: {text: 1}])
def test_what_leads_outside_is_not(text: str, wrap: Any) -> None:
    assert RULE.denies({"text": wrap(text)}) is not None
