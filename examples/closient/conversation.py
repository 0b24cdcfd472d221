"""An agent looks up a product and makes a QR code. No question is asked; the call is recorded.

Run it with `python -m examples.closient.conversation`. It needs no network and ends by itself.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path

from assent.client import Answer, GovernedClient, Question

sys.path.insert(0, str(Path(__file__).parents[2]))
from examples.closient.server import build

GTIN = "4006381333931"


async def converse(say: Callable[[str], None], store: str = "memory://") -> list[str]:
    """The whole conversation; returns the questions that were asked."""
    server, assent = build(store)
    asked: list[str] = []

    def ask(question: Question) -> Answer:
        asked.append(question.tool)
        return Answer("decline")

    async with GovernedClient(server, name="closient", trusted=True, profile="closient", asker=ask) as client:
        for tool in await client.list_tools():
            said = tool.annotations.model_dump(by_alias=True, exclude_none=True) if tool.annotations else {}
            say(f"{tool.name:<16} {json.dumps(said)}")
        for name in ("ping", "validate_gtin", "resolve_gtin", "lookup_product", "generate_qr_url"):
            result = await client.call_tool(name, {} if name == "ping" else {"gtin": GTIN})
            say(f"Agent: {name:<16} → {result.structured_content}")
    await assent.close()
    say(f"       questions asked: {len(asked)}")
    return asked


if __name__ == "__main__":
    asyncio.run(converse(print))
