"""Remembers which upstream events a session received, so that it can resume only its own streams.

Upstreams return events to anyone who knows their id. Assent therefore checks whose events they were.
"""

from __future__ import annotations

import re

from assent.core.limited_dict import LimitedDict
from assent.web.asgi import Message, Send

MOST_KEPT = 512
MOST_ID = 256
_ID = re.compile(rb"(?:\A|[\r\n])id: ?([^\r\n]{1,%d})(?=[\r\n])" % MOST_ID)
_LONGEST_START = MOST_ID + len(b"id: ")


class SeenEventIds:
    """The ids of the last events that one session received, on any of its streams."""

    def __init__(self) -> None:
        self._ids = LimitedDict[bytes, None](MOST_KEPT)

    def __contains__(self, event_id: str) -> bool:
        return event_id.encode("latin-1", "replace") in self._ids

    def listening(self, send: Send) -> Send:
        """Wraps `send` so that the ids of the events passing through are remembered."""
        rest = b""

        async def recording_send(message: Message) -> None:
            nonlocal rest
            if message["type"] == "http.response.body":
                rest = self._read(rest + message.get("body", b""))
            await send(message)

        return recording_send

    def _read(self, text: bytes) -> bytes:
        """Remembers the ids in complete lines and returns the unfinished last line."""
        for found in _ID.finditer(text):
            self._ids[found[1]] = None
        begun = text[max(text.rfind(b"\n"), text.rfind(b"\r")) + 1 :]
        return begun if len(begun) <= _LONGEST_START else b"-"
