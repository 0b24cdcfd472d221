"""Sessions with something watched around each call: a tool that never answers, and what a server touches."""

from __future__ import annotations

import ast
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, cast

from assent.checks.verify.observe import ToolSession
from assent.core.question import visible
from assent.upstreams.sandbox.errors import CannotConfine
from assent.upstreams.sandbox.grants import STRONGEST, Attempt, Grants, Kind
from assent.upstreams.sandbox.programs import find_program
from assent.upstreams.sandbox.trace import traced
from assent.upstreams.sandbox.usage import Observer, Usage

_GRACE = 5.0


class _WatchedSession:
    """A session whose calls run inside a context."""

    def __init__(self, session: ToolSession, around: Callable[[str], AbstractContextManager[Any]]) -> None:
        self._session, self._around = session, around

    @property
    def asked(self) -> int:
        return self._session.asked

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


_MOST_NOTES = 5


class Touched(Observer):
    """What each tool touched beside the system's files and the program's own."""

    def __init__(self, file: Path, command: Sequence[str], env: Mapping[str, str]) -> None:
        self._log, self._read, self.usage, self._tool = file, 0, Usage(), ""
        self.command = traced(str(file), command)
        try:
            program = find_program(command, env, None).reads
        except CannotConfine:
            program = {}
        super().__init__("", self.usage, Grants(program=program), lambda: STRONGEST, list, confined=False)

    def over(self, session: ToolSession) -> ToolSession:
        """The session, with what the server does during each call kept for its tool."""
        return _WatchedSession(session, self._keep_for)

    @contextmanager
    def _keep_for(self, tool: str) -> Iterator[None]:
        self.take("")
        try:
            yield
        finally:
            self.take(tool)

    def take(self, tool: str) -> None:
        """Read what was written since the last look; it belongs to this tool."""
        self._tool = tool
        text = self._log.read_text(encoding="utf-8") if self._log.exists() else ""
        lines, self._read = text[self._read :].splitlines(), len(text)
        for line in lines:
            kind, _, target = line.partition(" ")
            self(Attempt(cast(Kind, kind), ast.literal_eval(target)))

    def notes(self) -> Iterator[str]:
        """What tools changed and reached, in words."""
        for tool, found in sorted(self.usage.used.items()):
            for kind, verb in (("write", "changed"), ("network", "reached")):
                targets = sorted(one.target for one in found if one.kind == kind and tool)
                more = f" and {len(targets) - _MOST_NOTES} more" if len(targets) > _MOST_NOTES else ""
                if targets:
                    yield f"{tool} {verb} {', '.join(targets[:_MOST_NOTES])}{more}"

    def _keep(self, attempt: Attempt) -> None:
        self.usage.add([self._tool], attempt, stopped=False)
