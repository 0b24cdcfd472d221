"""Events of streams, kept so that a client can resume its stream."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

from assent.core.limited_dict import LimitedDict

_PREFIX = "assent."
RETRY = 100
"""Milliseconds. Clients that are told nothing wait for seconds, and a look at the kept events costs little."""


class EventLog:
    """The numbered events of one stream, limited in size. The newest one is always kept: it may be the answer."""

    def __init__(self, number: int, size: int, make_room: Callable[[EventLog], None]) -> None:
        self.retry = RETRY
        """Milliseconds after which a client that lost the stream should come back."""
        self._number = number
        self._size = size
        self._make_room = make_room
        self.held = 0
        self._count = 0
        self._events: deque[tuple[int, bytes]] = deque()
        self._ended = False
        self._news = asyncio.Event()

    def add(self, event: bytes) -> bytes:
        """Keeps an event and returns it with its id prepended."""
        self._count += 1
        event = b"id: %b%d.%d\r\n%b" % (_PREFIX.encode(), self._number, self._count, event)
        self._events.append((self._count, event))
        self.held += len(event)
        while self.held > self._size and len(self._events) > 1:
            self.held -= len(self._events.popleft()[1])
        self._make_room(self)
        self._news.set()
        return event

    def end(self) -> None:
        self._ended = True
        self._news.set()

    async def after(self, last: int) -> AsyncIterator[bytes]:
        """Yields every event after the given one as it arrives, until the stream ends."""
        while True:
            self._news.clear()
            for count, event in list(self._events):
                if count > last:
                    last = count
                    yield event
            if last < self._count:
                continue  # It came while the client read, and another reader may have cleared the news of it.
            if self._ended:
                return
            await self._news.wait()


class EventLogs:
    """The resumable streams of one session; one too many, or too much in all of them, drops the oldest."""

    def __init__(self, streams: int = 16, size: int = 1024 * 1024) -> None:
        self._size, self._most = size, streams * size
        self._logs = LimitedDict[int, EventLog](streams)
        self._count = 0

    def open(self) -> EventLog:
        self._count += 1
        log = self._logs[self._count] = EventLog(self._count, self._size, self._make_room)
        return log

    def _make_room(self, written: EventLog) -> None:
        while len(self._logs) > 1 and sum(log.held for log in self._logs.values()) > self._most:
            oldest = next(number for number, log in self._logs.items() if log is not written)
            del self._logs[oldest]

    def find(self, event_id: str) -> tuple[EventLog, int] | None:
        """The stream that an event id belongs to, and the event's number in it."""
        number, _, count = event_id.removeprefix(_PREFIX).partition(".")
        if not (number.isdecimal() and count.isdecimal() and len(number) < 16 and len(count) < 16):
            return None
        log = self._logs.get(int(number))
        return (log, int(count)) if log is not None else None

    @staticmethod
    def owns(event_id: str) -> bool:
        return event_id.startswith(_PREFIX)
