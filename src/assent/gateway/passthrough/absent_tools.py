"""Removes mentions of hidden tools from the answers of a relayed upstream."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import orjson

from assent.core.tool_mentions import Mentions
from assent.web.asgi import Message, Send

CLEANED = frozenset(
    {
        *("initialize", "server/discover", "completion/complete", "prompts/list", "prompts/get"),
        *("resources/list", "resources/templates/list"),
    }
)
"""The methods whose answers describe the server. They are short, so an answer can be buffered."""


def no_mentions(_caller: Hashable) -> Mentions:
    return Mentions(())


class Cleaned:
    """Buffers one response and sends it without the mentions."""

    def __init__(self, send: Send, mentions: Mentions) -> None:
        self._send, self._mentions = send, mentions
        self._start: Message | None = None
        self._parts: list[bytes] = []

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            return
        self._parts.append(message.get("body", b""))
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
        return b"".join(
            b"data: " + self._document(line[5:].strip()) + b"\r\n" if line.startswith(b"data:") else line
            for line in body.splitlines(keepends=True)
        )

    def _document(self, text: bytes) -> bytes:
        try:
            message: Any = orjson.loads(text)
        except orjson.JSONDecodeError:
            return text
        return orjson.dumps(self._mentions.clean(message))
