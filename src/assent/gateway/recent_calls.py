"""The last calls in the log: when each tool was last used, and who called."""

from __future__ import annotations

from collections.abc import Mapping

from assent.core.limited_dict import LimitedDict
from assent.core.principal import Kind, Mode, Principal
from assent.ports import LogEntry, Store

MOST_READ = 2000
"""Entries that one look reads at most. What lies further back is not looked at."""
PAGE = 500
MOST_CALLERS = 200
_CALLS = frozenset({"intent", "read", "replay", "rehearsal"})


class RecentCalls:
    """Follows the log of all replicas, a bounded number of entries at a time, and only when somebody looks."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._after: int | None = None
        self._used: dict[str, float] = {}
        self._callers = LimitedDict[tuple[str, str, str, str], str](MOST_CALLERS)

    @property
    def used(self) -> Mapping[str, float]:
        """When each tool was last called, as far as the log was read."""
        return self._used

    @property
    def callers(self) -> list[tuple[Principal, str]]:
        """Principals and the tools they called, the latest last."""
        return [
            (Principal(name, _kind(kind), tenant, mode=_mode(mode)), tool)
            for (tenant, name, tool, mode), kind in self._callers.items()
        ]

    async def catch_up(self) -> None:
        """Read what was written since the last look, or the end of it where that is much."""
        length = await self._store.length()
        after = max(-1 if self._after is None else self._after, length - 1 - MOST_READ)
        while True:
            entries = await self._store.entries(after=after, limit=PAGE)
            for one in entries:
                self._see(one)
            if entries:
                after = entries[-1].index
            if len(entries) < PAGE:
                break
        self._after = after

    def _see(self, one: LogEntry) -> None:
        entry = one.entry
        tool = entry.facts.get("tool")
        if entry.kind not in _CALLS or not isinstance(tool, str):
            return
        self._used[tool] = max(entry.at, self._used.get(tool, 0.0))
        who, values = entry.values.get("principal"), entry.values
        if isinstance(who, str):
            place = (str(values.get("tenant", "")), who, tool, str(entry.facts.get("mode", "live")))
            self._callers[place] = str(values.get("kind", "agent"))


def _kind(text: str) -> Kind:
    return "human" if text == "human" else "service" if text == "service" else "agent"


def _mode(text: str) -> Mode:
    return "test" if text == "test" else "live"
