"""Tools that follow a script and log their effects."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from assent.ports import NotReached, NotRun, OutcomeUnknown, ToolFailed
from assent.testing.decisions.model import Script


class Scripted:
    """Tools that follow a script, one line per call and then the last line again, and log their effects."""

    def __init__(self, scripts: Mapping[str, tuple[Script, ...]]) -> None:
        self._lines: dict[str, list[Script]] = {}
        self._soon: dict[str, Script] = {}
        self._gate = asyncio.Event()
        self._entered: asyncio.Queue[str] = asyncio.Queue()
        self.effects: list[str] = []
        self.follow(scripts)

    def follow(self, scripts: Mapping[str, Iterable[Script]]) -> None:
        self._lines.update({tool: list(lines) for tool, lines in scripts.items()})

    def soon(self, tool: str, script: Script) -> None:
        """Make the next call of a tool do this instead of its script."""
        self._soon[tool] = script

    def speaks_text(self, tool: str) -> bool:
        """Whether a tool answers in text only."""
        return any(line.text is not None for line in self._lines.get(tool, ()))

    async def entered(self) -> None:
        """Wait until a tool hangs."""
        await self._entered.get()

    def release(self) -> None:
        """Release all hanging calls."""
        self._gate.set()

    async def respond(self, tool: str, *, effect: bool = True) -> Any:
        """Return the next line: a result, its structured part, or an exception to raise."""
        if effect:
            self.effects.append(tool)
        line = self._soon.pop(tool, None) or self._next(tool)
        if line.does == "hangs":
            self._entered.put_nowait(tool)
            await self._gate.wait()
        return _result_of(line)

    def _next(self, tool: str) -> Script:
        lines = self._lines.get(tool) or [Script()]
        return lines.pop(0) if len(lines) > 1 else lines[0]


def _result_of(line: Script) -> Any:
    match line.does:
        case "lost":
            return OutcomeUnknown("the connection broke")
        case "unreached":
            return NotReached("nobody listens")
        case "not_run":
            return NotRun("The tool refused the arguments.")
    if line.fails is not None:
        return ToolFailed(line.fails)
    if line.error is not None:
        return {"content": [], "structuredContent": line.error, "isError": True}
    if line.text is not None:
        return {"content": [{"type": "text", "text": line.text}]}
    return {"ok": True} if line.returns is None else line.returns
