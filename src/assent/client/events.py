"""Journal of what the client did for the agent."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

What = Literal[
    "called", "answered", "failed", "retried", "refused", "asked", "decided", "estimated", "rehearsed", "waited",
    "secret", "open_world", "changed", "server_asked", "server_answered", "reconnected", "logged_in",
]  # fmt: skip


class Noted(NamedTuple):
    """One event. Results are not kept, so secrets in them are not either."""

    at: float
    what: What
    tool: str
    facts: Mapping[str, Any]


class Journal:
    """The latest events; `sink` receives every event as it happens."""

    def __init__(
        self, now: Callable[[], float], keep: int = 10_000, sink: Callable[[Noted], None] | None = None
    ) -> None:
        self._now = now
        self._noted: deque[Noted] = deque(maxlen=keep)
        self._outside: deque[Noted] = deque(maxlen=keep)
        self._sink = sink

    @property
    def entries(self) -> list[Noted]:
        return list(self._noted)

    @property
    def open_world(self) -> list[Noted]:
        """Calls that reached outside the server's own world."""
        return list(self._outside)

    def of(self, tool: str) -> list[Noted]:
        return [noted for noted in self._noted if noted.tool == tool]

    def note(self, what: What, tool: str = "", **facts: Any) -> None:
        noted = Noted(self._now(), what, tool, facts)
        (self._outside if what == "open_world" else self._noted).append(noted)
        if self._sink is not None:
            self._sink(noted)
