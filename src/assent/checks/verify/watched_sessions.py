"""Sessions with something watched around each call: a tool that never answers, and what a server touches."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from assent.checks.verify.observe import ToolSession
from assent.core.question import visible

_GRACE = 5.0


class _WatchedSession:
    """A session whose calls run inside a context."""

    def __init__(self, session: ToolSession, around: Callable[[str], AbstractContextManager[Any]]) -> None:
        self._session, self._around = session, around

    @property
    def questions_asked(self) -> int:
        return self._session.questions_asked

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, key: str | None = None, agree: bool = True
    ) -> dict[str, Any]:
        with self._around(tool):
            return await self._session.call(tool, arguments, key=key, agree=agree)

    async def responds(self) -> bool:
        return await self._session.responds()


class HangGuard:
    """Timer outside the event loop. It ends the program with a message when a call does not even time out."""

    def __init__(self, patience: float, *, grace: float = _GRACE, end: Callable[[int], Any] = os._exit) -> None:
        self._patience, self._grace, self._end = patience, grace, end

    def over(self, session: ToolSession) -> ToolSession:
        """Return the session with each call guarded."""
        return _WatchedSession(session, self._guard)

    @contextmanager
    def _guard(self, tool: str) -> Iterator[None]:
        timer = self.arm(tool)
        try:
            yield
        finally:
            timer.cancel()

    def arm(self, tool: str) -> threading.Timer:
        """Guard one call; cancel the timer when the answer arrives."""
        message = f"{visible(tool)} did not answer and holds the program; call its server as a command: -- COMMAND"
        return self._start(self._patience + self._grace, message, 1)

    def leave(self, code: int) -> threading.Timer:
        """Guard the exit, so that a server that does not close cannot delay it."""
        return self._start(self._grace, "the server did not stop in time and may still be running", code)

    def _start(self, seconds: float, message: str, code: int) -> threading.Timer:
        timer = threading.Timer(seconds, self._give_up, (message, code))
        timer.daemon = True
        timer.start()
        return timer

    def _give_up(self, message: str, code: int) -> None:
        sys.stderr.write(f"{message}\n")
        sys.stderr.flush()
        sys.stdout.flush()
        self._end(code)


def touching(session: ToolSession, traced: Any) -> ToolSession:
    """The session, with what the sandbox feature traces during each call kept for its tool."""

    @contextmanager
    def keep_for(tool: str) -> Iterator[None]:
        traced.take("")
        try:
            yield
        finally:
            traced.take(tool)

    return _WatchedSession(session, keep_for)
