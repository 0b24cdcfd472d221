"""Answers in which a relayed upstream describes itself, rewritten on their way to the client."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import orjson

from assent.core.principal import Principal
from assent.core.tool_mentions import Mentions
from assent.upstreams.errors import Oversized
from assent.web.asgi import Message, Send

INTRODUCTIONS = frozenset({"initialize", "server/discover"})
"""The methods whose answers say what the server can do."""
CLEANED = INTRODUCTIONS | {
    *("completion/complete", "prompts/list", "prompts/get"),
    *("resources/list", "resources/templates/list"),
}
"""The methods whose answers describe the server; they are short, so that an answer can be held until it is whole."""
LARGEST = 16 * 1024 * 1024
_ENDS = (b"\r\n\r\n", b"\n\n", b"\r\r")
_EVENT_END = re.compile(rb"((?:\r\n|(?<!\r)\n|\r(?!\n)){2,})")

Rewrite = Callable[[Any], Any]
"""Takes from a message what its caller must not read."""


def no_mentions(_caller: Principal) -> Mentions:
    return Mentions(())


class RewrittenResponse:
    """Sends a response after its messages are rewritten: a JSON document as a whole, events as they are complete."""

    def __init__(self, send: Send, rewrite: Rewrite, upstream: str) -> None:
        self._send, self._rewrite, self._upstream = send, rewrite, upstream
        self._start: Message | None = None
        self._streams = False
        self._held = bytearray()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            return await self._begin(message)
        piece, more = message.get("body", b""), message.get("more_body", False)
        self._held += piece
        if len(self._held) > LARGEST:
            self._held.clear()
            raise Oversized(self._upstream, "described itself with more than 16 MB", sent=True)
        if self._streams:
            events = self._take(self._last_end(len(piece)) if more else len(self._held))
            await self._send({**message, "body": b"".join(self._event(event) for event in _EVENT_END.split(events))})
        elif not more:
            await self._send_document()

    async def _begin(self, start: Message) -> None:
        fields = [(name, value) for name, value in start["headers"] if name != b"content-length"]
        kinds = [value.lower() for name, value in fields if name == b"content-type"]
        self._start = {**start, "headers": fields}
        self._streams = any(kind.startswith(b"text/event-stream") for kind in kinds)
        if self._streams:
            await self._send(self._start)

    async def _send_document(self) -> None:
        assert self._start is not None
        body = self._document(self._take(len(self._held)))
        fields = [*self._start["headers"], (b"content-length", b"%d" % len(body))]
        await self._send({**self._start, "headers": fields})
        await self._send({"type": "http.response.body", "body": body})

    def _last_end(self, arrived: int) -> int:
        """Where the last complete event ends; it is looked for only in what has just arrived."""
        begin = max(0, len(self._held) - arrived - len(_ENDS[0]))
        return max(at + len(end) if (at := self._held.rfind(end, begin)) >= 0 else 0 for end in _ENDS)

    def _take(self, size: int) -> bytes:
        taken = bytes(self._held[:size])
        del self._held[:size]
        return taken

    def _event(self, event: bytes) -> bytes:
        """One event, or what separates two. The data of an event is one document, on however many lines it is."""
        lines = event.splitlines()
        data = b"\n".join(line[5:].strip() for line in lines if line.startswith(b"data:"))
        if not data or (rewritten := self._document(data)) is data:
            return event
        others = [line for line in lines if not line.startswith(b"data:")]
        return b"\r\n".join([*others, *(b"data: " + line for line in rewritten.splitlines())])

    def _document(self, text: bytes) -> bytes:
        """The document rewritten. One that needs no change stays as the upstream wrote it, and so does other text."""
        try:
            message, before = orjson.loads(text), orjson.loads(text)
        except orjson.JSONDecodeError:
            return text
        rewritten = self._rewrite(message)
        return text if rewritten == before else orjson.dumps(rewritten)
