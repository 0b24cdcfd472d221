"""What is read from headers."""

from typing import Any, cast

import pytest

from assent.gateway.http_exchange import HttpExchange, accepts
from assent.mcp.requests import Era, keys_of


def read_head(headers: list[tuple[bytes, bytes]]) -> HttpExchange:
    return HttpExchange({"headers": headers}, cast(Any, None), cast(Any, None))


@pytest.mark.parametrize(
    ("version", "era"),
    [
        (None, Era.HANDSHAKE),
        (b"2025-03-26", Era.HANDSHAKE),
        (b"2025-11-25", Era.HANDSHAKE),
        (b"2026-07-28", Era.MODERN),
        (b"anything else", Era.MODERN),
        (b"", Era.MODERN),
    ],
)
def test_the_version_header_decides_the_era(version: bytes | None, era: Era) -> None:
    headers = [] if version is None else [(b"mcp-protocol-version", version)]
    assert read_head(headers).era is era


def test_repeated_headers_are_joined_and_a_repeated_routing_header_is_remembered() -> None:
    hosts = [(b"host", b"localhost"), (b"host", b"evil")]
    kinds = [(b"accept", b"text/html"), (b"accept", b"*/*")]
    head = read_head([*hosts, *kinds, (b"mcp-name", b"a"), (b"mcp-name", b"b")])
    assert (head.fields[b"host"], head.fields[b"accept"], head.text(b"mcp-name"), head.duplicated) == (
        b"localhost, evil",
        b"text/html, */*",
        "a",
        "mcp-name",
    )


def test_two_idempotency_keys_are_none_that_can_be_used() -> None:
    head = read_head([(b"idempotency-key", b"a"), (b"idempotency-key", b"a")])
    assert keys_of(head.text(b"idempotency-key"), None) == ("",)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (b"*/*", (True, True)),
        (b"application/json", (True, False)),
        (b"text/*;q=0.5, APPLICATION/JSON", (True, True)),
        (b"", (False, False)),
    ],
)
def test_accept_is_read_with_wildcards_and_weights(accept: bytes, expected: tuple[bool, bool]) -> None:
    assert accepts(accept) == expected
