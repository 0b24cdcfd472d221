"""A session may resume what it was told, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from assent.mcp.event_log import MOST_KEPT, SeenEventIds


async def told(heard: SeenEventIds, *pieces: bytes) -> list[bytes]:
    passed: list[bytes] = []

    async def send(message: Any) -> None:
        passed.append(message["body"])

    listening = heard.listening(send)
    for piece in pieces:
        await listening({"type": "http.response.body", "body": piece, "more_body": True})
    return passed


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
async def test_ids_are_heard_however_the_stream_is_cut(end: bytes, size: int) -> None:
    stream = end.join([b"id: e-1", b"data: {}", b"", b": id: no", b"id:e 2", b'data: "id: no"', b"", b"id: open"])
    heard = SeenEventIds()
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert await told(heard, *pieces) == pieces
    assert [name in heard for name in ("e-1", "e 2", "no", "open", "", "e")] == [True, True, False, False, False, False]


async def test_only_the_last_ids_are_kept_and_none_that_is_too_long() -> None:
    heard = SeenEventIds()
    await told(heard, *[b"id: %d\n\n" % number for number in range(MOST_KEPT + 1)])
    assert "0" not in heard and "1" in heard and str(MOST_KEPT) in heard
    await told(heard, b"id: " + b"x" * 200, b"x" * 200, b"id: inside\n\n")
    assert "x" * 400 not in heard and "inside" not in heard
