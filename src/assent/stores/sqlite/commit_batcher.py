"""When do orders that came one by one go to the writer, so that calls which are under way together share a commit?

As soon as two turns of the loop bring nothing new: what is heard in one turn is acted on in the next. Somebody alone
waits for two empty turns, which take no time; where every turn brings somebody, all of them are worth waiting for,
within bounds: a commit costs nearly the same for one or thirty.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from assent.stores.batching import PendingWrite

PATIENCE = 0.005
"""Seconds; the longest that anybody waits for company."""
MOST_TOGETHER = 256
QUIET = 2


class CommitBatcher:
    """Orders on their way to the writer."""

    def __init__(self, hand_over: Callable[[list[PendingWrite]], None]) -> None:
        self._hand_over = hand_over
        self._orders: deque[PendingWrite] = deque()
        self._news = 0
        self._turning: asyncio.AbstractEventLoop | None = None

    def add(self, order: PendingWrite, loop: asyncio.AbstractEventLoop) -> None:
        self._orders.append(order)
        self._news += 1
        if self._turning is not loop:
            self._turning = loop
            loop.call_soon(self._turn, loop, self._news, 0, loop.time())

    def note_activity(self) -> None:
        """Something has happened from which orders may come: those who were told that theirs is kept go on."""
        self._news += 1

    def _turn(self, loop: asyncio.AbstractEventLoop, seen: int, quiet: int, since: float) -> None:
        quiet = quiet + 1 if self._news == seen else 0
        if quiet < QUIET and len(self._orders) < MOST_TOGETHER and loop.time() - since < PATIENCE:
            loop.call_soon(self._turn, loop, self._news, quiet, since)
        else:
            self._turning = None
            self.release()

    def release(self) -> None:
        """Hand over whatever there is. The loop of another thread may be doing the same."""
        orders: list[PendingWrite] = []
        with suppress(IndexError):
            for _ in range(len(self._orders)):
                orders.append(self._orders.popleft())
        self._hand_over(orders)
