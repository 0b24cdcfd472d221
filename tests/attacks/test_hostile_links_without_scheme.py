"""Links without a scheme do not lead past `allow_domains`, and other ways of writing a host do not either."""

from __future__ import annotations

import pytest

from assent.rules.guards.rules.allow_domains import AllowDomains

RULE = AllowDomains(domains=("example.com",))

WHOLE = [
    "//evil",
    "///evil",
    " //localhost/x",
    "//[::1]/x",
    "//2130706433/x",
    "\\\\?\\UNC\\evil.org\\x",
    "/\\localhost",
]
ANYWHERE = [
    "//evil\u3002org/",
    "www.evil.org",
    "WWW.evil.org/a",
    "www.evil\u3002org",
    "blob:https://evil.org/x",
    "git@evil.org:repo.git",
    "intent://evil.org#Intent;scheme=https;end",
    "https://example.com%40evil.org",
    "https://example.com%2eevil.org",
    "https://evil.org\u2215.example.com",
    "https://example.com^.evil.org",
    "https://[example.com]@evil.org",
    "https://example.com..evil.org",
    "https://user:pa@ss@evil.org",
    "https://ex\u0430mple.com/",
    "https://127.1/",
    "file:///etc/passwd",
    '"ann@example.com"@evil.org',
    "ann@example.com@evil.org",
    "@example.com:bob@evil.org",
    "ann@[127.0.0.1]",
    "https://example.com/?u=https://evil.org",
    "javascript:location='https://evil.org'",
]
HARMLESS = [
    "// a comment", "//", "///", "// a\n// b", "a//b", "www.", "www.example.com", "See WWW.Example.com.",
    "//example.com/x",
]  # fmt: skip


@pytest.mark.parametrize("text", [*WHOLE, *ANYWHERE])
def test_a_text_that_is_such_a_link_is_denied(text: str) -> None:
    assert RULE.denies({"to": text}) is not None


@pytest.mark.parametrize("text", ANYWHERE)
def test_so_is_a_text_that_contains_one(text: str) -> None:
    assert RULE.denies({"to": f"See {text} now"}) is not None
    assert RULE.denies({"to": f'Dear Ann, "{text}" is new.'}) is not None


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_texts_are_allowed(text: str) -> None:
    assert RULE.denies({"to": text}) is None
