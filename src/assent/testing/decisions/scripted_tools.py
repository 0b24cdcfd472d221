"""What do the tools of a case do, and what did they do?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from assent.ports import NotReached, NotRun, OutcomeUnknown, ToolFailed
from assent.testing.decisions.model import Script


class Scripted:
    """Tools that follow a script, one line a call and the last one ever after, and keep a log of their effects."""

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
        """The next call of a tool does this, whatever its script says."""
        self._soon[tool] = script

    def speaks_text(self, tool: str) -> bool:
        """Whether a tool answers in text alone."""
        return any(line.text is not None for line in self._lines.get(tool, ()))

    async def entered(self) -> None:
        """Wait until a tool hangs."""
        await self._entered.get()

    def release(self) -> None:
        """Let go whatever hangs."""
        self._gate.set()

    async def respond(self, tool: str, *, effect: bool = True) -> Any:
        """The next line: a result, the structured part of one, or an exception to raise."""
        if effect:
            self.effects.append(tool)
        line = self._soon.pop(tool, None) or self._next(tool)
        if line.does == "hangs":
            self._entered.put_nowait(tool)
            await self._gate.wait()
        return _said(line)

    def _next(self, tool: str) -> Script:
        lines = self._lines.get(tool) or [Script()]
        return lines.pop(0) if len(lines) > 1 else lines[0]


def _said(line: Script) -> Any:
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
