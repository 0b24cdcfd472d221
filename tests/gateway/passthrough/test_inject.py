"""A word of ours on a stream that is relayed as it is."""

from __future__ import annotations

from typing import Any

import pytest

from assent.gateway.passthrough.non_tool import MOST_WAITING, Injection

START = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}
OURS = b"event: message\r\ndata: ours\r\n\r\n"


class Wire:
    def __init__(self) -> None:
        self.body = b""

    async def __call__(self, message: Any) -> None:
        self.body += message.get("body", b"")


def piece(body: bytes, more: bool = True) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
async def test_it_waits_for_the_end_of_an_event_however_it_is_cut(end: bytes) -> None:
    wire = Wire()
    injection = Injection(wire, after_first=True)
    await injection.send(START)
    await injection.put(b"ours")
    event = b"data: theirs" + end
    for number in range(len(event)):
        await injection.send(piece(event[number : number + 1]))
    assert wire.body == event + OURS


async def test_on_a_silent_stream_it_is_said_at_once_unless_the_first_word_is_the_upstreams() -> None:
    for after_first, said in ((False, OURS), (True, b"")):
        wire = Wire()
        injection = Injection(wire, after_first=after_first)
        await injection.send(START)
        await injection.put(b"ours")
        assert wire.body == said


@pytest.mark.parametrize(
    "start",
    [
        {**START, "status": 404},
        {**START, "headers": [(b"content-type", b"application/json")]},
        {**START, "headers": []},
    ],
)
async def test_an_answer_that_is_no_stream_stays_as_it_is(start: dict[str, Any]) -> None:
    wire = Wire()
    injection = Injection(wire, after_first=False)
    await injection.send(start)
    await injection.put(b"ours")
    await injection.send(piece(b"{}\n\n", more=False))
    assert wire.body == b"{}\n\n"


async def test_nothing_is_said_after_the_end_and_what_waits_is_bounded() -> None:
    wire = Wire()
    injection = Injection(wire, after_first=False)
    await injection.send(START)
    await injection.send(piece(b"data: half"))
    for _ in range(MOST_WAITING * 2):
        await injection.put(b"ours")
    await injection.send(piece(b"\n\n"))
    assert wire.body.count(OURS) == MOST_WAITING
    await injection.send(piece(b"", more=False))
    await injection.put(b"ours")
    assert wire.body.count(OURS) == MOST_WAITING
