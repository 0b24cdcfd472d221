"""Collects writes of concurrent calls so that they share one commit.

Writes are handed over when two turns of the event loop bring no new one: a message read in one turn causes a write
in the next. Under load it pays to wait, within bounds: a commit costs nearly the same for one write or thirty. A
caller that is alone does not wait: its write is handed over at once while commits hold one write each.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from assent.stores.batching import PendingWrite

PATIENCE = 0.005
"""The longest wait for more writes, in seconds."""
MOST_TOGETHER = 256
QUIET = 2


class CommitBatcher:
    """Writes that wait to be handed to the writer."""

    def __init__(self, hand_over: Callable[[list[PendingWrite]], None]) -> None:
        self._hand_over = hand_over
        self._orders: deque[PendingWrite] = deque()
        self._activity = 0
        self._last_batch = 0
        self._active_loop: asyncio.AbstractEventLoop | None = None

    def add(self, order: PendingWrite, loop: asyncio.AbstractEventLoop) -> None:
        self._orders.append(order)
        self._activity += 1
        if self._last_batch <= 1 and self._active_loop is None:
            self.release()
        elif self._active_loop is not loop:
            self._active_loop = loop
            loop.call_soon(self._check_turn, loop, self._activity, 0, loop.time())

    def note_commit(self, orders: int) -> None:
        """Report how many callers share a commit. They got their results and may write again soon."""
        self._last_batch = orders
        self._activity += 1

    def _check_turn(self, loop: asyncio.AbstractEventLoop, seen: int, quiet: int, since: float) -> None:
        quiet = quiet + 1 if self._activity == seen else 0
        if quiet < QUIET and len(self._orders) < MOST_TOGETHER and loop.time() - since < PATIENCE:
            loop.call_soon(self._check_turn, loop, self._activity, quiet, since)
        else:
            self._active_loop = None
            self.release()

    def release(self) -> None:
        """Hand over all writes. The event loop of another thread may do the same at once."""
        orders: list[PendingWrite] = []
        with suppress(IndexError):
            for _ in range(len(self._orders)):
                orders.append(self._orders.popleft())
        self._hand_over(orders)
