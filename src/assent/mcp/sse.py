"""Reads and writes server-sent events (text/event-stream)."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

PER_TURN = 8


class Turns:
    """Yields to the event loop after every few messages, because one sender may send thousands."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = 0

    async def over(self) -> None:
        """Counts one processed message."""
        self._count += 1
        if self._count % PER_TURN == 0:
            await asyncio.sleep(0)


class EventTooLarge(ValueError):
    """One event exceeds the size limit."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event; its data stays bytes, because only a JSON parser reads it."""

    data: bytes
    event: bytes = b"message"
    id: bytes | None = None
    retry: int | None = None


class EventReader:
    """Turns arriving bytes into complete events; holds at most one unfinished event."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rest: list[bytes] = []
        self._held = self._waiting = 0
        self._data: list[bytes] = []
        self._event = b""
        self._id: bytes | None = None
        self._retry: int | None = None
        self._begun = self._is_after_cr = False

    def feed(self, piece: bytes) -> Iterator[Event]:
        if piece and self._is_after_cr:  # A CR has ended the last line; an LF right after it belongs to it.
            self._is_after_cr, piece = False, piece.removeprefix(b"\n")
        self._rest.append(piece)
        self._waiting += len(piece)
        if b"\n" in piece or b"\r" in piece:
            yield from self._split(b"".join(self._rest))
        if self._held + self._waiting > self._limit:
            raise EventTooLarge(f"an event is larger than {self._limit} bytes")

    def _split(self, text: bytes) -> Iterator[Event]:
        self._is_after_cr = text.endswith(b"\r")
        lines = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        rest = lines.pop()
        self._rest, self._waiting = [rest], len(rest)
        for line in lines:
            if line:
                self._read_line(line)
            elif (event := self._dispatch()) is not None:
                yield event

    def _read_line(self, line: bytes) -> None:
        self._held += len(line)
        if self._held > self._limit:
            raise EventTooLarge(f"an event is larger than {self._limit} bytes")
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._begun = True
        elif name == b"event":
            self._event = value
        elif name == b"id" and b"\0" not in value:
            self._id = value
            self._begun = True
        elif name == b"retry" and value.isdigit():
            self._retry = int(value[:9])
            self._begun = True

    def _dispatch(self) -> Event | None:
        event = Event(b"\n".join(self._data), self._event or b"message", self._id, self._retry) if self._begun else None
        self._held, self._data, self._event, self._id, self._retry = 0, [], b"", None, None
        self._begun = False
        return event


def render(data: bytes) -> bytes:
    """One event of the default kind; the data must not contain line breaks."""
    return b"event: message\r\ndata: %b\r\n\r\n" % data
