"""Reads event streams of an upstream: the messages before an answer, and the messages of an endless stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import orjson

from assent.mcp.channel import UPDATED, StreamListener
from assent.mcp.jsonrpc import cannot_be_asked, is_too_deep
from assent.mcp.sse import Event, EventReader, EventTooLarge, Turns
from assent.upstreams.errors import Oversized, ProtocolViolation, UpstreamError
from assent.upstreams.http.connection import UpstreamResponse
from assent.upstreams.http.sessions import SessionContext

if TYPE_CHECKING:
    from assent.upstreams.http.client import HttpUpstream

_EVENT = 1024 * 1024
_RESUMPTIONS = 100
_LONGEST_RETRY = 30_000


class _StreamPosition:
    """The position in a stream, and when to resume it."""

    def __init__(self) -> None:
        self.last: bytes | None = None
        self.retry = 1000

    def note(self, event: Event) -> None:
        if event.id:
            self.last = event.id
        if event.retry is not None:
            self.retry = min(event.retry, _LONGEST_RETRY)


async def read_answer(
    client: HttpUpstream, response: UpstreamResponse, peer: SessionContext, stream_listener: StreamListener | None
) -> dict[str, Any]:
    """The answer at the end of a response stream. What comes before it goes to the listener; a broken stream is
    resumed if the upstream allows it.
    """
    if stream_listener is not None:
        await stream_listener.open()
    position = _StreamPosition()
    for _ in range(_RESUMPTIONS):
        message = await _read_until_answer(client, response, peer, stream_listener, position)
        if message is not None:
            return message
        if position.last is None or peer.session is None:
            break
        if stream_listener is not None:
            await stream_listener.pause()
        response = await _resume(client, position, peer)
    raise client.violation("the stream ended without a response")


async def _read_until_answer(
    client: HttpUpstream,
    response: UpstreamResponse,
    peer: SessionContext,
    stream_listener: StreamListener | None,
    position: _StreamPosition,
) -> dict[str, Any] | None:
    reader, turns = EventReader(client.pool.limits.body), Turns()
    try:
        async for piece in response.pieces():
            for event in reader.feed(piece):
                await turns.over()
                position.note(event)
                if not event.data:
                    if stream_listener is not None and event.id is not None:
                        await stream_listener.prime(event.retry)
                    continue
                message = client.parse(event.data)
                if "method" not in message:
                    return message
                with response.held(asked="id" in message):
                    await _on_message(client, message, peer, stream_listener)
    except EventTooLarge as error:
        raise Oversized(client.pool.name, str(error), sent=True) from None
    except UpstreamError:
        if position.last is None or peer.session is None:
            raise
    finally:
        response.close()
    return None


async def _resume(client: HttpUpstream, position: _StreamPosition, peer: SessionContext) -> UpstreamResponse:
    await asyncio.sleep(position.retry / 1000)
    assert position.last is not None and peer.session is not None
    fields = [
        (b"accept", b"text/event-stream"),
        (b"last-event-id", position.last),
        (b"mcp-session-id", peer.session.encode("latin-1")),
        (b"mcp-protocol-version", peer.version.encode()),
    ]
    response = await client.send(client.pool, b"GET", fields, peer)
    if response.status != 200:
        response.close()
        raise client.violation(f"answered {response.status} when the gateway resumed its stream")
    return response


async def _on_message(
    client: HttpUpstream, message: dict[str, Any], peer: SessionContext, stream_listener: StreamListener | None
) -> None:
    if "id" not in message:
        if message["method"] == UPDATED:  # It belongs to subscribers, also if another caller's answer carries it.
            client.on_notice(message)
        elif stream_listener is not None:
            await stream_listener.notify(message)
        return
    answer = await stream_listener.answer(message) if stream_listener is not None else None
    await client.post_one_way(answer or cannot_be_asked(message), peer)


async def stream_messages(name: str, response: UpstreamResponse) -> AsyncIterator[dict[str, Any]]:
    """The messages on an endless stream."""
    reader, turns = EventReader(_EVENT), Turns()
    try:
        if not (response.header(b"content-type") or b"").lower().startswith(b"text/event-stream"):
            raise ProtocolViolation(name, f"cannot be subscribed to ({response.status})", sent=True)
        async for piece in response.pieces():
            for event in reader.feed(piece):
                await turns.over()
                if event.data and isinstance(message := orjson.loads(event.data), dict):
                    if is_too_deep(event.data, message):
                        raise ProtocolViolation(name, "a notification is nested too deeply", sent=True)
                    yield message
    except (orjson.JSONDecodeError, EventTooLarge):
        raise ProtocolViolation(name, "a notification is not a JSON-RPC message", sent=True) from None
    finally:
        response.close()
