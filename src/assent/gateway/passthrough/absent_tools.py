"""Removes mentions of hidden tools from the answers of a relayed upstream."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import orjson

from assent.core.principal import Principal
from assent.core.tool_mentions import Mentions
from assent.upstreams.errors import Oversized
from assent.web.asgi import Message, Send

CLEANED = frozenset(
    {
        *("initialize", "server/discover", "completion/complete", "prompts/list", "prompts/get"),
        *("resources/list", "resources/templates/list"),
    }
)
"""The methods whose answers describe the server; they are short, so that an answer can be held until it is whole."""
LARGEST = 16 * 1024 * 1024


def no_mentions(_caller: Principal) -> Mentions:
    return Mentions(())


_EVENT_END = re.compile(rb"((?:\r\n|(?<!\r)\n|\r(?!\n)){2,})")


Clean = Callable[[Any], Any]
"""Takes from a message what its caller must not read."""


class Cleaned:
    """Buffers one response and sends it without what its caller must not read."""

    def __init__(self, send: Send, clean: Clean, upstream: str) -> None:
        self._send, self._clean_message, self._upstream = send, clean, upstream
        self._size = 0
        self._start: Message | None = None
        self._parts: list[bytes] = []

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            return
        self._parts.append(message.get("body", b""))
        self._size += len(self._parts[-1])
        if self._size > LARGEST:
            raise Oversized(self._upstream, "described itself with more than 16 MB", sent=True)
        if message.get("more_body", False):
            return
        assert self._start is not None
        body = self._clean(b"".join(self._parts))
        fields = [(name, value) for name, value in self._start["headers"] if name != b"content-length"]
        await self._send({**self._start, "headers": [*fields, (b"content-length", b"%d" % len(body))]})
        await self._send({"type": "http.response.body", "body": body})

    def _clean(self, body: bytes) -> bytes:
        """Cleans a JSON document or the data lines of an event stream; anything else stays unchanged."""
        if body.lstrip()[:1] == b"{":
            return self._document(body)
        return b"".join(self._event(event) for event in _EVENT_END.split(body))

    def _event(self, event: bytes) -> bytes:
        """One event, or what separates two. The data of an event is one document, on however many lines it stands."""
        lines = event.splitlines()
        data = b"\n".join(line[5:].strip() for line in lines if line.startswith(b"data:"))
        if not data:
            return event
        others = [line for line in lines if not line.startswith(b"data:")]
        return b"\r\n".join([*others, *(b"data: " + line for line in self._document(data).splitlines())])

    def _document(self, text: bytes) -> bytes:
        try:
            message: Any = orjson.loads(text)
        except orjson.JSONDecodeError:
            return text
        return orjson.dumps(self._clean_message(message))
