"""Answers in which a relayed upstream describes itself, rewritten on their way to the client."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from typing import Any

import orjson

from assent.core.principal import Principal
from assent.core.tool_mentions import Mentions
from assent.mcp.jsonrpc import is_too_deep
from assent.upstreams.errors import Oversized, ProtocolViolation
from assent.web.asgi import Message, Send

LISTED = frozenset({"initialize", "server/discover", "prompts/list", "resources/list", "resources/templates/list"})
"""The methods whose answers are about the server itself and never wait for an answer of the client."""
CLEANED = LISTED | {"completion/complete", "prompts/get"}
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
        self._kind = b""
        self._held = bytearray()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            return self._begin(message)
        piece, more = message.get("body", b""), message.get("more_body", False)
        self._held += piece
        if len(self._held) > LARGEST:
            self._held.clear()
            raise Oversized(self._upstream, "described itself with more than 16 MB", sent=True)
        if self._kind.startswith(b"text/event-stream"):
            await self._send_events(self._last_end(len(piece)) if more else len(self._held), more=more)
        elif not more:
            await self._send_whole()

    def _begin(self, start: Message) -> None:
        """The start waits for the first event or the whole document, so that a response can still be refused."""
        fields = [(name, value) for name, value in start["headers"] if name != b"content-length"]
        self._kind = next((value.lower() for name, value in fields if name == b"content-type"), b"")
        self._start = {**start, "headers": fields}
        self._held.clear()

    async def _send_events(self, size: int, *, more: bool) -> None:
        if size == 0 and more:
            return
        events = self._take(size)
        if self._start is not None:
            events = events.removeprefix(codecs.BOM_UTF8)
        body = b"".join(self._event(event) for event in _EVENT_END.split(events))
        if self._start is not None:
            await self._send(self._start)
            self._start = None
        await self._send({"type": "http.response.body", "body": body, "more_body": more})

    async def _send_whole(self) -> None:
        assert self._start is not None
        body = self._take(len(self._held))
        if body.strip() and (self._kind.startswith(b"application/json") or body.lstrip()[:1] == b"{"):
            body = self._document(body)
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
        kind = b"".join(line[6:].strip() for line in lines if line.startswith(b"event:"))
        if not data or kind not in (b"", b"message") or (rewritten := self._document(data)) is data:
            return event
        others = [line for line in lines if not line.startswith(b"data:")]
        return b"\r\n".join([*others, *(b"data: " + line for line in rewritten.splitlines())])

    def _document(self, text: bytes) -> bytes:
        """The document rewritten. One that needs no change stays as the upstream wrote it."""
        try:
            message, before = orjson.loads(text), orjson.loads(text)
        except orjson.JSONDecodeError:
            # Some clients read more than JSON, and what cannot be read here cannot be cleaned.
            raise ProtocolViolation(self._upstream, "described itself in text that is not JSON", sent=True) from None
        if is_too_deep(text, message):
            raise Oversized(self._upstream, "described itself in text that is nested too deeply", sent=True)
        rewritten = self._rewrite(message)
        return text if rewritten == before else orjson.dumps(rewritten)
