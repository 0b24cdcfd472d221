"""Live updates: a stream of server-sent events that say that something changed, never what."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from assent.errors import StoreError
from assent.ports import Store

LOOK_EVERY = 1.0
KEEP_ALIVE = 15.0
MOST_STREAMS = 500


class LiveFeed:
    """Looks at the log's length once a second for all open streams and tells them when it grew."""

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store
        self._length = -1
        self._changed = asyncio.Event()
        self._streams = 0
        self._task: asyncio.Task[None] | None = None

    def response(self, request: Request) -> Response:
        if self._streams >= MOST_STREAMS:
            return Response("Too many live pages are open.", 503)
        fields = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(self._events(), media_type="text/event-stream", headers=fields)

    async def _events(self) -> AsyncIterator[bytes]:
        """The first event says where the stream begins, and pages pass over it; every later one is a change."""
        self._streams += 1
        changed = self._changed
        self._start()
        try:
            yield b"retry: 3000\n\nevent: changed\ndata: %d\n\n" % self._length
            while True:
                try:
                    await asyncio.wait_for(changed.wait(), KEEP_ALIVE)
                    changed = self._changed
                    yield b"event: changed\ndata: %d\n\n" % self._length
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            self._streams -= 1
            self._stop_if_unused()

    def _start(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._watch())

    def _stop_if_unused(self) -> None:
        if self._streams == 0 and self._task is not None:
            self._task.cancel()
            self._task = None

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
