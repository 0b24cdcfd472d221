"""An agent with a scripted model buys a scene: it looks, asks for the price, asks the user, and pays once.

Run it with `python examples/estimate_then_place/agent.py`. The shop dies after it has charged and before it has
answered; the order is made again under the same key, and the shop's book shows one charge.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcp import StdioServerParameters

from assent.client import GovernedClient, Terminal

UPSTREAM = Path(__file__).with_name("upstream.py")
Turn = Callable[[list[Any]], tuple[str, dict[str, Any]] | str]


def script(seen: list[Any]) -> tuple[str, dict[str, Any]] | str:
    """What the model says next, by what it has seen so far: a call, or its last words."""
    if not seen:
        return "catalog.search", {"place": "etna"}
    item = seen[0]["items"][-1]
    if len(seen) == 1:
        return "orders.archive.estimate", {"item": item}
    if len(seen) == 2:
        return "orders.archive.place", {"item": item}
    last = seen[-1]
    return f"I ordered {item}: {last['order']}." if "order" in last else f"I did not order it: {last['detail']}"


async def converse(client: GovernedClient, model: Turn, say: Callable[[str], None]) -> str:
    """The agent's loop: whatever the model wants called is called, and it sees what came back."""
    seen: list[Any] = []
    while not isinstance(said := model(seen), str):
        name, arguments = said
        result = await client.call_tool(name, arguments)
        seen.append(result.structured_content)
        say(f"Agent: {name:<26} → {result.structured_content}")
    say(f"Agent: {said}")
    return said


def shop(book: Path, *, falls_over: bool) -> StdioServerParameters:
    environment = {**os.environ, "SHOP_BOOK": str(book)}
    if falls_over:
        environment["SHOP_FALLS_OVER"] = "1"
    return StdioServerParameters(command=sys.executable, args=[str(UPSTREAM)], env=environment)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        book = Path(folder) / "charges.log"
        server = shop(book, falls_over=True)
        async with GovernedClient(server, name="scenes", trusted=True, asker=Terminal()) as client:
            await converse(client, script, print)
            for noted in client.journal.entries:
                print(f"       {noted.what:<12} {noted.tool:<24} {_told(noted.facts)}")
        print("The shop's own book:")
        print(book.read_text("utf-8") if book.exists() else "(no charges)")


def _told(facts: Any) -> str:
    return ", ".join(f"{name}={value}" for name, value in facts.items() if name not in ("text", "arguments"))


if __name__ == "__main__":
    asyncio.run(main())
