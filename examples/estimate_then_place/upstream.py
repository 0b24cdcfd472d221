"""A shop for satellite scenes that nobody governs: it says its tiers in `_meta` and honours a key in an argument.

Its book is a file of its own: one line for every charge. With SHOP_FALLS_OVER set it charges the first order it gets
and dies before it can answer.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp_types import ToolAnnotations

BOOK = Path(os.environ.get("SHOP_BOOK", "charges.log"))
PRICE = 240
READ: dict[str, Any] = {
    "annotations": ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=False, open_world_hint=True
    ),
    "meta": {"x-side-effect": "read"},
}
SPEND: dict[str, Any] = {
    "annotations": ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=True
    ),
    "meta": {"x-side-effect": "external_spend", "x-required-scope": "orders:write", "x-produces": ["order"]},
}

server = MCPServer("scenes", log_level="ERROR")


def charges() -> list[dict[str, object]]:
    return [json.loads(line) for line in BOOK.read_text("utf-8").splitlines()] if BOOK.exists() else []


@server.tool(name="catalog.search", **READ)
def search(place: str) -> dict[str, list[str]]:
    """Search the archive for scenes of a place."""
    return {"items": [f"{place}-2026-05", f"{place}-2026-06"]}


@server.tool(name="orders.archive.estimate", **READ)
def estimate(item: str) -> dict[str, int]:
    """Say what an archive scene costs."""
    return {"credits": PRICE}


@server.tool(name="orders.archive.place", **SPEND)
def place(item: str, idempotency_key: str) -> dict[str, object]:
    """Order an archive scene. The same key again gives the first order back and charges nothing."""
    for charge in charges():
        if charge["key"] == idempotency_key:
            return {"order": charge["order"], "credits": PRICE}
    first = not charges()
    order = f"o-{len(charges()) + 1}"
    with BOOK.open("a", encoding="utf-8") as book:
        book.write(json.dumps({"order": order, "item": item, "key": idempotency_key, "credits": PRICE}) + "\n")
    if first and os.environ.get("SHOP_FALLS_OVER"):
        os._exit(1)
    return {"order": order, "credits": PRICE}


if __name__ == "__main__":
    server.run()
