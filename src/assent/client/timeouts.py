"""How long may an attempt take, at next to no cost for the many that are quick?

A timer per call is most of what governing a call would cost. Here one timer serves all of them: it is set for the
earliest end there was, and when it goes off it is set anew for whatever runs by then.
"""

from __future__ import annotations

import asyncio
from operator import itemgetter
from types import TracebackType
from typing import Self


class SharedTimer:
    """Ends what takes too long, in the manner of `asyncio.timeout`."""

    def __init__(self) -> None:
        self._running: set[Deadline] = set()
        self._timer: asyncio.TimerHandle | None = None

    def within(self, seconds: float) -> Deadline:
        """A block that raises TimeoutError when it takes longer."""
        return Deadline(self, asyncio.get_running_loop().time() + seconds)

    def enter(self, one: Deadline) -> None:
        self._running.add(one)
        self.watch(one.until)

    def leave(self, one: Deadline) -> None:
        self._running.discard(one)

    def watch(self, until: float | None) -> None:
        """See to it that the timer goes off by then."""
        if until is None or (self._timer is not None and self._timer.when() <= until):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(until, self._look)

    def _look(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for _, one in sorted(self._due(now), key=itemgetter(0)):  # in the order of their ends, however late we look
            one.expire()
        self.watch(min((one.until for one in self._running if one.until is not None), default=None))

    def _due(self, now: float) -> list[tuple[float, Deadline]]:
        return [(one.until, one) for one in self._running if one.until is not None and one.until <= now]


class Deadline:
    """One block that may take so long."""

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
        # Whoever else cancelled this task meant it: then it is no time-out.
        if self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def reschedule(self, until: float | None) -> None:
        """Let it take until then; None is for as long as it likes."""
        self.until = until
        self._patience.watch(until)

    def expire(self) -> None:
        if not self._expired and self._task is not None:
            self._expired = True
            self.until = None
            self._task.cancel()
