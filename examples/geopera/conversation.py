"""An agent buys a scene: it searches, asks for the price, asks the user, pays once, and shares the result.

Run it with `python -m examples.geopera.conversation`. It needs no network and ends by itself.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assent.client import Answer, GovernedClient, Question

sys.path.insert(0, str(Path(__file__).parents[2]))
from examples.geopera.server import Account, build

Say = Callable[[str], None]


async def converse(say: Say, answer: str = "y") -> Account:
    """The whole conversation; returns what the marketplace really did."""
    account = Account()
    server, assent = build(account=account)

    def ask(question: Question) -> Answer:
        price = f" for {question.price}" if question.price else ""
        say(f'Agent: "{question.title}{price}? (y/n)"')
        say(f"User:  {answer}")
        return Answer("accept" if answer == "y" else "decline")

    async with GovernedClient(server, name="geopera", trusted=True, asker=ask) as client:

        async def call(name: str, **arguments: Any) -> dict[str, Any]:
            result = await client.call_tool(name, arguments)
            tier = client.standing(name)
            told = result.structured_content or {}
            shown = told.get("detail") if result.is_error else told
            say(f"Agent: {name:<26} → {tier.tier.value if tier else '?'}: {shown}")
            return dict(told)

        items = (await call("catalog.items.search", place="etna"))["items"]
        await call("orders.archive.estimate", item=items[-1])
        await call("orders.archive.place", item=items[-1])
        await call("analytics.index", scene=items[-1])
        await call("share.link.create", collection_id="etna")
        await call("orders.list")
        say(f"       kept from the model: {[delivery.tool for delivery in client.secrets]}")
    await assent.close()
    say(f"       the account: {account.charges}, {account.credits} credits left")
    return account


if __name__ == "__main__":
    asyncio.run(converse(print))
    print("\nThe same conversation with a user who says no:")
    asyncio.run(converse(print, "n"))
