"""Live updates: a stream of server-sent events that say that something changed, never what."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable

from starlette.responses import Response, StreamingResponse

from assent.errors import StoreError
from assent.ports import Store

LOOK_EVERY = 1.0
KEEP_ALIVE = 15.0
MOST_STREAMS = 500
MOST_OF_A_PERSON = 20


class LiveFeed:
    """Looks at the log's length once a second for all open streams and tells them when it grew."""

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store
        self._length = -1
        self._changed = asyncio.Event()
        self._streams: Counter[Hashable] = Counter()
        self._task: asyncio.Task[None] | None = None

    def response(self, person: Hashable, is_open: Callable[[], Awaitable[bool]]) -> Response:
        """The stream of one page of a person. It ends when `is_open` says that their session has ended."""
        if self._streams.total() >= MOST_STREAMS or self._streams[person] >= MOST_OF_A_PERSON:
            return Response("Too many live pages are open.", 503)
        fields = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(self._events(person, is_open), media_type="text/event-stream", headers=fields)

    async def _events(self, person: Hashable, is_open: Callable[[], Awaitable[bool]]) -> AsyncIterator[bytes]:
        """The first event says that the stream begins, and pages pass over it; every later one is a change."""
        self._streams[person] += 1
        changed = self._changed
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._watch())
        try:
            yield b"retry: 3000\n\nevent: changed\ndata: begin\n\n"
            while True:
                woken = await _is_set(changed, KEEP_ALIVE)
                if not await is_open():
                    return
                changed = self._changed
                yield b"event: changed\ndata: log\n\n" if woken else b": still here\n\n"
        finally:
            self._streams[person] -= 1
            self._streams += Counter()  # forgets people without a stream
            if not self._streams:
                await self.close()

    async def _watch(self) -> None:
        while True:
            try:
                length = await self._store().length()
            except StoreError:
                length = self._length
            if length != self._length:
                self._length = length
                told, self._changed = self._changed, asyncio.Event()
                told.set()
            await asyncio.sleep(LOOK_EVERY)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None


async def _is_set(event: asyncio.Event, patience: float) -> bool:
    """Whether the event comes in time."""
    try:
        async with asyncio.timeout(patience):
            return await event.wait()
    except TimeoutError:
        return False
