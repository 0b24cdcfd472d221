"""An answer in which a relayed server describes itself is cleaned however it is written, and held within a bound."""

from __future__ import annotations

from typing import Any

import pytest

from assent.core.tool_mentions import Mentions
from assent.gateway.passthrough import descriptions
from assent.gateway.passthrough.descriptions import RewrittenResponse
from assent.upstreams.errors import Oversized

SECRET = "read_private_key"
HEAD = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}
LINES = [b'{"jsonrpc":"2.0","id":1,', b'"result":{"instructions":', b'"Hello. Use read_private_key."}}']


async def cleaned(*pieces: bytes) -> bytes:
    sent: list[bytes] = []

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))

    way = RewrittenResponse(send, Mentions([SECRET]).clean, "shop")
    await way(HEAD)
    for piece in pieces:
        await way({"type": "http.response.body", "body": piece, "more_body": True})
    await way({"type": "http.response.body", "body": b""})
    return b"".join(sent)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
async def test_a_document_on_several_data_lines_is_cleaned(end: bytes) -> None:
    event = end.join([b"event: message", b"id: 7", *(b"data: " + line for line in LINES)])
    said = await cleaned(b": open" + end + end + event + end + end)
    assert SECRET.encode() not in said
    assert b"Hello." in said and b"id: 7" in said and b": open" in said
    assert said.endswith(end + end)


async def test_ordinary_events_stay_events() -> None:
    said = await cleaned(b'id: 1\r\ndata: \r\n\r\nevent: message\r\ndata: {"a":1}\r\n\r\n')
    assert said == b'id: 1\r\ndata: \r\n\r\nevent: message\r\ndata: {"a":1}\r\n\r\n'


async def test_an_event_whose_data_is_empty_lines_stays_as_it_is() -> None:
    assert await cleaned(b"id: 1\ndata:\ndata: \n\n") == b"id: 1\ndata:\ndata: \n\n"


async def test_an_endless_answer_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptions, "LARGEST", 1000)
    with pytest.raises(Oversized, match="more than 16 MB"):
        await cleaned(*[b"x" * 100] * 11)


@pytest.mark.parametrize("size", [1, 7, 64])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
async def test_events_are_cleaned_in_whatever_pieces_they_arrive(end: bytes, size: int) -> None:
    event = end.join([b"event: message", *(b"data: " + line for line in LINES)]) + end + end
    whole = event + b": ping" + end + end + event
    said = await cleaned(*(whole[at : at + size] for at in range(0, len(whole), size)))
    assert SECRET.encode() not in said
    assert said.count(b"Hello.") == 2 and b": ping" in said


async def test_a_complete_event_does_not_wait_for_the_end_of_the_stream() -> None:
    sent: list[bytes] = []

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))

    way = RewrittenResponse(send, Mentions([SECRET]).clean, "shop")
    await way(HEAD)
    await way({"type": "http.response.body", "body": b"data: 1\n\ndata: rea", "more_body": True})
    assert b"".join(sent) == b"data: 1\n\n"
