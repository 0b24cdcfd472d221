"""A plain loop over Anthropic's API whose tools are governed.

Run it with `python -m examples.frameworks.with_anthropic`.
"""

from __future__ import annotations

import asyncio
from typing import Any

from anthropic import AsyncAnthropic
from examples.frameworks.scripted_api import scripted_api
from examples.frameworks.story import WISH, Script, tell

from assent.client import GovernedClient
from assent.client.adapters.anthropic import converse


async def run(client: GovernedClient, script: Script) -> str:
    messages: list[Any] = [{"role": "user", "content": WISH}]
    async with scripted_api(script) as address, AsyncAnthropic(base_url=address, api_key="none") as api:
        message = await converse(api, client, messages, model="scripted", max_tokens=1024)
    return "".join(block.text for block in message.content if block.type == "text")


if __name__ == "__main__":
    asyncio.run(tell(run))
