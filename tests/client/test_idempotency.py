"""Which key an action carries when several like it are without an end."""

from __future__ import annotations

import asyncio

from assent import GovernedClient
from client.test_governed_client import CLOSED
from support.clients.person import Naps, Somebody
from support.servers.plain_server import Plain, said, tool

PLACE = tool("place_order", "item", "idempotency_key", tier="external_spend")


async def test_two_like_actions_without_an_end_keep_two_keys_and_two_doubts() -> None:
    plain, person = Plain(PLACE, place_order=[CLOSED, CLOSED, said()]), Somebody(*[True] * 5)
    keys = iter(["1", "2", "3"])
    client = GovernedClient(
        plain.server, asker=person, trusted=True, attempts=1, sleep=Naps(), make_key=lambda: next(keys)
    )
    async with client:
        await asyncio.gather(*(client.call_tool("place_order", {"item": "a"}) for _ in range(2)))
        for _ in range(3):
            await client.call_tool("place_order", {"item": "a"})
    assert [arguments["idempotency_key"] for _, arguments in plain.log] == ["1", "2", "1", "2", "3"]
    doubtful = ["its end is unknown" in question.why for question in person.asked]
    assert doubtful == [False, False, True, True, False]
