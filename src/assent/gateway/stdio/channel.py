"""The way back to the client of `assent wrap` while one of its requests runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

Ask = Callable[[str, dict[str, Any], float], Awaitable[dict[str, Any]]]


class StdioChannel:
    """One stream for everything: always open, never resumed. Questions of the server reach the client without it."""

    __slots__ = ("_ask", "_tell")
    ask_within = 300.0

    def __init__(self, tell: Callable[[dict[str, Any]], None], ask: Ask) -> None:
        self._tell, self._ask = tell, ask

    async def open(self) -> None:
        """The stream is open."""

    async def prime(self, retry: int | None) -> None:
        """Nothing is resumed here."""

    async def pause(self) -> None:
        """Nothing is interrupted here."""

    async def notify(self, message: dict[str, Any]) -> None:
        self._tell(message)

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return await self._ask(method, params, self.ask_within)

    async def answer(self, question: dict[str, Any]) -> dict[str, Any] | None:
        """None: the server's questions do not come here."""
        return None
