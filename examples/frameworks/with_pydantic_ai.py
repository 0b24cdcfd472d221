"""An agent of pydantic-ai whose tools are governed.

Run it with `python -m examples.frameworks.with_pydantic_ai`.
"""

from __future__ import annotations

import asyncio
from typing import Any

from examples.frameworks.story import WISH, Script, tell
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from assent.client import GovernedClient
from assent.client.adapters.pydantic_ai import GovernedToolset


async def run(client: GovernedClient, script: Script) -> str:
    agent: Agent[None, str] = Agent(scripted(script), toolsets=[GovernedToolset(client)])
    return (await agent.run(WISH)).output


def scripted(script: Script) -> FunctionModel:
    """Stands where a real model would: Agent("anthropic:...", toolsets=...)."""

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        parts: list[Any] = [part for message in messages for part in message.parts]
        seen = [str(part.content) for part in parts if isinstance(part, ToolReturnPart)]
        said = script(seen, [tool.name for tool in info.function_tools])
        if isinstance(said, str):
            return ModelResponse(parts=[TextPart(said)])
        return ModelResponse(parts=[ToolCallPart(name, arguments, call_id) for call_id, name, arguments in said])

    return FunctionModel(reply)


if __name__ == "__main__":
    asyncio.run(tell(run))
