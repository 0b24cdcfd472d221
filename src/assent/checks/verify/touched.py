"""Watches which files and hosts a server touches in each call, for servers that a command starts."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from assent.checks.verify.observe import ToolSession
from assent.upstreams.sandbox.errors import CannotConfine
from assent.upstreams.sandbox.grants import STRONGEST, Attempt, Grants, Kind
from assent.upstreams.sandbox.programs import find_program
from assent.upstreams.sandbox.trace import traced
from assent.upstreams.sandbox.usage import Observer, Usage

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
        return _TouchingSession(session, self)

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


class _TouchingSession:
    def __init__(self, session: ToolSession, touched: Touched) -> None:
        self._session, self._touched = session, touched

    @property
    def asked(self) -> int:
        return self._session.asked

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, key: str | None = None, agree: bool = True
    ) -> dict[str, Any]:
        self._touched.take("")
        try:
            return await self._session.call(tool, arguments, key=key, agree=agree)
        finally:
            self._touched.take(tool)

    async def responds(self) -> bool:
        return await self._session.responds()
