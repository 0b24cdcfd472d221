"""The same purchase for every library: a scripted model, the shop of `estimate_then_place`, and who is asked.

The model looks, asks for the price and places an order; the shop charges, dies before it can answer and is called
again under the same key. Its own book shows one charge.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from examples.estimate_then_place.agent import shop

from assent.client import GovernedClient, Terminal

WISH = "Buy me the latest scene of Etna."
Call = tuple[str, str, Any]
"""An id, a tool's name as the model knows it, and arguments: an object, or text as a model might write it."""
Script = Callable[[Sequence[str], Sequence[str]], list[Call] | str]
"""What the model says next, given the results it has read so far and the names of the tools it is offered."""
Run = Callable[[GovernedClient, Script], Awaitable[str]]


def buys(seen: Sequence[str], tools: Sequence[str]) -> list[Call] | str:
    if not seen:
        return [("call_1", "catalog_search", {"place": "etna"})]
    item = json.loads(seen[0])["items"][-1]
    if len(seen) == 1:
        return [("call_2", "orders_archive_estimate", {"item": item})]
    if len(seen) == 2:
        return [("call_3", "orders_archive_place", {"item": item})]
    last = json.loads(seen[-1])
    return f"I ordered {item}: {last['order']}." if "order" in last else f"I did not order it: {last['detail']}"


async def tell(run: Run) -> None:
    """Run one library's agent with the script, the user at the terminal, and show what happened."""
    with tempfile.TemporaryDirectory() as folder:
        book = Path(folder) / "charges.log"
        server = shop(book, falls_over=True)
        async with GovernedClient(server, name="scenes", trusted=True, asker=Terminal()) as client:
            print(f"User:  {WISH}")
            print(f"Agent: {await run(client, buys)}")
            for noted in client.journal.entries:
                facts = ", ".join(f"{k}={v}" for k, v in noted.facts.items() if k not in ("text", "arguments"))
                print(f"       {noted.what:<12} {noted.tool:<24} {facts}")
        print("The shop's own book:")
        print(book.read_text("utf-8") if book.exists() else "(no charges)")
