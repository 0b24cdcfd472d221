"""Inserts the gateway's own events into a relayed event stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from assent.mcp.sse import render
from assent.web.asgi import Message, Send

_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
MOST_WAITING = 64


class Injection:
    """A relayed event stream; the gateway's events are inserted between the upstream's events."""

    def __init__(self, send: Send, *, after_first: bool) -> None:
        self._send = send
        self._turn = asyncio.Lock()
        self._between = not after_first
        self._streams = False
        self._tail = b""
        self._waiting: list[bytes] = []

    async def send(self, message: Message) -> None:
        """Sends a message of the upstream unchanged."""
        async with self._turn:
            await self._send(message)
            if message["type"] == "http.response.start":
                kinds = [value for name, value in message["headers"] if name == b"content-type"]
                self._streams = message["status"] == 200 and any(
                    kind.startswith(b"text/event-stream") for kind in kinds
                )
                return
            if body := message.get("body", b""):
                self._tail = (self._tail + body[-4:])[-4:]
                self._between = self._tail.endswith(_ENDS)
            self._streams = self._streams and message.get("more_body", False)
            await self._flush()

    async def put(self, message: bytes) -> None:
        """Sends an event of the gateway at the next boundary between events; a full queue drops its oldest."""
        async with self._turn:
            self._waiting = [*self._waiting, render(message)][-MOST_WAITING:]
            await self._flush()

    async def _flush(self) -> None:
        if self._streams and self._between and self._waiting:
            events, self._waiting = b"".join(self._waiting), []
            await self._send({"type": "http.response.body", "body": events, "more_body": True})


@asynccontextmanager
async def injecting(
    send: Send, next_message: Callable[[], Awaitable[bytes]], *, after_first: bool = False
) -> AsyncIterator[Send]:
    """Yields a `send` for the relay; the messages of `next_message` are inserted until it returns nothing."""
    injection = Injection(send, after_first=after_first)

    async def pump() -> None:
        while message := await next_message():
            await injection.put(message)

    pumping = asyncio.ensure_future(pump())
    try:
        yield injection.send
    finally:
        pumping.cancel()
        await asyncio.gather(pumping, return_exceptions=True)
