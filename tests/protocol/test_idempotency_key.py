"""The key beside the arguments is read as a structured field, quoted or bare."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers

from assent.mcp.requests import META_KEY, header_of, keys_of, unquote


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ("abc", "abc"),
        ('"abc"', "abc"),
        ('  "a b"\t', "a b"),
        (r'"a\"b\\c"', r"a\"b\\c".replace(r"\"", '"').replace("\\\\", "\\")),
        ('"', ""),
        ('"abc', ""),
        ('"a"b"', ""),
        (r'"a\b"', ""),
        ('"a\\"', ""),
        ('""', ""),
        ("", ""),
    ],
)
def test_a_quoted_key_means_its_inside_and_broken_quotes_mean_no_usable_key(sent: str, read: str) -> None:
    assert unquote(sent) == read


def test_every_place_a_key_was_sent_is_reported() -> None:
    assert keys_of('"a"', {META_KEY: "b"}) == ("a", "b")
    assert keys_of(None, None) == ()
    assert keys_of(None, {META_KEY: 5}) == ("",), "a key that is no text is a key that cannot be used"


def test_two_headers_are_a_key_that_cannot_be_used() -> None:
    one, two = (b"idempotency-key", b"a"), (b"Idempotency-Key", b"b")
    assert header_of(Headers(raw=[one])) == "a"
    assert header_of(Headers(raw=[])) is None
    assert header_of(None) is None
    assert keys_of(header_of(Headers(raw=[one, (two[0].lower(), two[1])])), None) == ("",)
