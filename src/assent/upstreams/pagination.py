"""Reads a paginated list to its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from assent.upstreams.errors import ProtocolViolation

MOST_ENTRIES = 10_000
"""Entries of one list. More would cost every caller memory and time, whoever sends them."""
_PAGES = 1000


async def all_pages(
    upstream: str, method: str, key: str, ask: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Every entry under `key` of every page, as the upstream wrote it. `ask` sends the parameters of one page."""
    entries: list[dict[str, Any]] = []
    cursors: set[str] = set()
    params: dict[str, Any] = {}
    for _ in range(_PAGES):
        result = await ask(params)
        page = result.get(key)
        if not isinstance(page, list) or not all(isinstance(entry, dict) for entry in page):
            raise ProtocolViolation(upstream, f"the result of {method} has no list of {key}", sent=True)
        entries += page
        if len(entries) > MOST_ENTRIES:
            raise ProtocolViolation(upstream, f"{method} has more than {MOST_ENTRIES:,} entries", sent=True)
        cursor = result.get("nextCursor")
        if not isinstance(cursor, str) or not cursor:
            return entries
        if cursor in cursors:
            break
        cursors.add(cursor)
        params = {"cursor": cursor}
    raise ProtocolViolation(upstream, f"{method} has too many pages", sent=True)
