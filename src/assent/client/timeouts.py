"""Timeouts for many short calls with one shared timer.

A timer per call would be most of the cost of a governed call. One timer serves all: it is set for the earliest
deadline, and is set again when it fires.
"""

from __future__ import annotations

import asyncio
from operator import itemgetter
from types import TracebackType
from typing import Self


class SharedTimer:
    """Ends blocks that take too long, like `asyncio.timeout`."""

    def __init__(self) -> None:
        self._running: set[Deadline] = set()
        self._timer: asyncio.TimerHandle | None = None

    def within(self, seconds: float) -> Deadline:
        """Return a block that raises TimeoutError after that many seconds."""
        return Deadline(self, asyncio.get_running_loop().time() + seconds)

    def enter(self, deadline: Deadline) -> None:
        self._running.add(deadline)
        self.watch(deadline.until)

    def leave(self, deadline: Deadline) -> None:
        self._running.discard(deadline)

    def watch(self, until: float | None) -> None:
        """Make sure that the timer fires by then."""
        if until is None or (self._timer is not None and self._timer.when() <= until):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(until, self._look)

    def _look(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for _, deadline in sorted(
            self._due(now), key=itemgetter(0)
        ):  # in the order of their deadlines, even when the timer fires late
            deadline.expire()
        self.watch(min((deadline.until for deadline in self._running if deadline.until is not None), default=None))

    def _due(self, now: float) -> list[tuple[float, Deadline]]:
        return [
            (deadline.until, deadline)
            for deadline in self._running
            if deadline.until is not None and deadline.until <= now
        ]


class Deadline:
    """One block with a deadline."""

    __slots__ = ("_cancelling", "_expired", "_patience", "_task", "until")

    def __init__(self, patience: SharedTimer, until: float) -> None:
        self._patience = patience
        self.until: float | None = until
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0
        self._expired = False

    def __enter__(self) -> Self:
        self._task = asyncio.current_task()
        assert self._task is not None
        self._cancelling = self._task.cancelling()
        self._patience.enter(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._patience.leave(self)
        if not self._expired or self._task is None:
            return
        # If something else cancelled this task too, it is not a timeout.
        if self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def reschedule(self, until: float | None) -> None:
        """Move the deadline; None removes it."""
        self.until = until
        self._patience.watch(until)

    def expire(self) -> None:
        if not self._expired and self._task is not None:
            self._expired = True
            self.until = None
            self._task.cancel()
