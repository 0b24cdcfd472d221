"""A list of an upstream is read to its end, within bounds."""

from __future__ import annotations

from typing import Any

import pytest

from assent.upstreams.errors import ProtocolViolation
from assent.upstreams.pagination import MOST_ENTRIES, all_pages

PAGE = 1000


def pages_of(total: int, asked: list[Any]) -> Any:
    async def ask(params: dict[str, Any]) -> dict[str, Any]:
        start = int(params.get("cursor", 0))
        asked.append(start)
        stop = min(start + PAGE, total)
        more = {"nextCursor": str(stop)} if stop < total else {}
        return {"tools": [{"name": f"tool_{number}"} for number in range(start, stop)], **more}

    return ask


async def test_a_list_as_long_as_allowed_is_read_to_its_end() -> None:
    found = await all_pages("shop", "tools/list", "tools", pages_of(MOST_ENTRIES, []))
    assert len(found) == MOST_ENTRIES


async def test_a_server_that_lists_too_many_tools_is_not_asked_for_more() -> None:
    asked: list[int] = []
    with pytest.raises(ProtocolViolation, match="tools/list has more than 10,000 entries"):
        await all_pages("shop", "tools/list", "tools", pages_of(50_000, asked))
    assert len(asked) == MOST_ENTRIES // PAGE + 1
