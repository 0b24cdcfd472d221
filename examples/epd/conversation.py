"""An agent works for a payment platform: it reads freely, asks before it cancels, and repeats what may be repeated.

Run it with `python -m examples.epd.conversation`. It needs no network and ends by itself.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

from assent.client import Answer, GovernedClient, Question

sys.path.insert(0, str(Path(__file__).parents[2]))
from examples.epd.server import Platform, build

CALLS = [
    ("list_past_due_subscriptions", ""),
    ("get_customer_financial_summary", "c-1"),
    ("cancel_subscription", "s-1"),
    ("deliver_webhook", "w-1"),
    ("delete_customer", "c-1"),
]


async def converse(say: Callable[[str], None]) -> Platform:
    """The whole conversation; the user allows the cancellation and declines the deletion."""
    platform = Platform()
    server, assent = build(platform=platform)

    def ask(question: Question) -> Answer:
        allowed = question.tool == "cancel_subscription"
        say(f"       {question.title}: may the agent do this? {'yes' if allowed else 'no'}")
        return Answer("accept" if allowed else "decline")

    async with GovernedClient(server, name="epd", trusted=True, profile="epd", asker=ask) as client:
        for name, id in CALLS:
            result = await client.call_tool(name, {"id": id})
            told = result.structured_content or {}
            say(f"Agent: {name:<32} {told.get('detail') if result.is_error else 'done'}")
        say(f"       calls that left the platform: {[noted.tool for noted in client.journal.open_world]}")
    await assent.close()
    return platform


if __name__ == "__main__":
    asyncio.run(converse(print))
