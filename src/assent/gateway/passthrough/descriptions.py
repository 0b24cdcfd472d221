"""Answers in which a relayed upstream describes itself, rewritten on their way to the client."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import orjson

from assent.core.principal import Principal
from assent.core.tool_mentions import Mentions
from assent.mcp.jsonrpc import is_too_deep
from assent.rules.guards.workload import run_large
from assent.upstreams.errors import Oversized, ProtocolViolation
from assent.web.asgi import Message, Send

LISTED = frozenset({"initialize", "server/discover", "prompts/list", "resources/list", "resources/templates/list"})
"""The methods whose answers are about the server itself and never wait for an answer of the client."""
CLEANED = LISTED | {"completion/complete", "prompts/get"}
"""The methods whose answers describe the server; they are short, so that an answer can be held until it is whole."""
LARGEST = 16 * 1024 * 1024
_ENDS = (b"\r\n\r\n", b"\n\n", b"\r\r", b"\n\r")
_EVENT_END = re.compile(rb"((?:\r\n|(?<!\r)\n|\r(?!\n)){2,})")
# Some clients also end a line at other characters, such as U+2028, and would read a second line there.
_ONE_LINE = re.compile(rb"[\t -~]*")

Rewrite = Callable[[Any], Any]
"""Takes from a message what its caller must not read."""


def no_mentions(_caller: Principal) -> Mentions:
    return Mentions(())


class RewrittenResponse:
    """Sends a response after its messages are rewritten: a JSON document as a whole, events as they are complete."""

    def __init__(self, send: Send, rewrite: Rewrite, upstream: str) -> None:
        self._send, self._rewrite, self._upstream = send, rewrite, upstream
        self._start: Message | None = None
        self._is_events = self._is_json = False
        self._held = bytearray()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            return self._begin(message)
        piece, more = message.get("body", b""), message.get("more_body", False)
        self._held += piece
        if len(self._held) > LARGEST:
            self._held.clear()
            raise Oversized(self._upstream, "described itself with more than 16 MB", sent=True)
        if self._is_events:
            await self._send_events(self._last_end(len(piece)) if more else len(self._held), more=more)
        elif not more:
            await self._send_whole()

    def _begin(self, start: Message) -> None:
        """The start waits for the first event or the whole document, so that a response can still be refused."""
        fields = [(name, value) for name, value in start["headers"] if name != b"content-length"]
        kinds = b",".join(value.lower() for name, value in fields if name == b"content-type")
        # Some clients look for a type anywhere in the header, so each must be read as every client reads it.
        self._is_events, self._is_json = b"text/event-stream" in kinds, b"application/json" in kinds
        self._held.clear()
        if self._is_events and self._is_json:
            raise ProtocolViolation(self._upstream, "described itself with two content types", sent=True)
        self._start = {**start, "headers": fields}

    def discard(self) -> bool:
        """Forget what is held; whether the client has got nothing yet, so that it can still be told why."""
        self._held.clear()
        return self._start is not None

    async def _send_events(self, size: int, *, more: bool) -> None:
        if size == 0 and more:
            return
        events = self._take(size)
        if self._start is not None:
            events = events.lstrip(codecs.BOM_UTF8)
        body = await run_large(
            lambda: b"".join(self._event(event) for event in _EVENT_END.split(events)), len(events), self._upstream
        )
        if self._start is not None:
            await self._send(self._start)
            self._start = None
        await self._send({"type": "http.response.body", "body": body, "more_body": more})

    async def _send_whole(self) -> None:
        assert self._start is not None
        body = self._take(len(self._held))
        if body.strip() and (self._is_json or body.lstrip()[:1] == b"{"):
            read = self._document if self._start["status"] < 400 else self._error
            body = await run_large(partial(read, body), len(body), self._upstream)
        fields = [*self._start["headers"], (b"content-length", b"%d" % len(body))]
        start, self._start = {**self._start, "headers": fields}, None
        await self._send(start)
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
        kind = next(
            (line[6:].strip() for line in reversed(lines) if line.startswith(b"event:") or line == b"event"), b""
        )
        is_message = kind in (b"", b"message")
        data = b"\n".join(line[5:].strip() for line in lines if is_message and line.startswith(b"data:"))
        others = [line for line in lines if not (is_message and line.startswith(b"data:"))]
        kept = [line for line in others if _ONE_LINE.fullmatch(line)]
        rewritten = self._document(data) if data.strip() else data
        if rewritten is data and kept == others:
            return event
        return b"\r\n".join([*kept, *(b"data: " + line for line in rewritten.splitlines())])

    def _error(self, body: bytes) -> bytes:
        """The body of an error. Without one that can be read, its status still says what the client must do."""
        try:
            return self._document(body)
        except ProtocolViolation:
            return b""

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
