"""Plain loops over OpenAI's two APIs whose tools are governed.

Run it with `python -m examples.frameworks.with_openai`.
"""

from __future__ import annotations

import asyncio
from typing import Any

from examples.frameworks.scripted_api import scripted_api
from examples.frameworks.story import WISH, Script, tell
from openai import AsyncOpenAI

from assent.client import GovernedClient
from assent.client.adapters.openai import converse, respond


async def run(client: GovernedClient, script: Script) -> str:
    """With Chat Completions."""
    messages: list[Any] = [{"role": "user", "content": WISH}]
    async with scripted_api(script) as address, AsyncOpenAI(base_url=f"{address}/v1", api_key="none") as api:
        completion = await converse(api, client, messages, model="scripted")
    return completion.choices[0].message.content or ""


async def run_responses(client: GovernedClient, script: Script) -> str:
    """With the Responses API."""
    items: list[Any] = [{"role": "user", "content": WISH}]
    async with scripted_api(script) as address, AsyncOpenAI(base_url=f"{address}/v1", api_key="none") as api:
        response = await respond(api, client, items, model="scripted")
    return response.output_text


if __name__ == "__main__":
    asyncio.run(tell(run))
    asyncio.run(tell(run_responses))
