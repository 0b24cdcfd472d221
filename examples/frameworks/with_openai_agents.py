"""An agent of OpenAI's Agents SDK whose tools are governed.

Run it with `python -m examples.frameworks.with_openai_agents`.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from examples.frameworks.story import WISH, Script, tell
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from assent.client import GovernedClient
from assent.client.adapters.openai_agents import GovernedServer


async def run(client: GovernedClient, script: Script) -> str:
    agent = Agent(name="buyer", model=Scripted(script), mcp_servers=[GovernedServer(client)])
    # Without the second setting the SDK ends a run when the model names a tool that does not exist.
    config = RunConfig(tracing_disabled=True, tool_not_found_behavior="return_error_to_model")
    return str((await Runner.run(agent, WISH, run_config=config)).final_output)


class Scripted(Model):
    """Stands where a real model would: Agent(model="gpt-...")."""

    def __init__(self, script: Script) -> None:
        self._script = script

    async def get_response(self, *, input: Any, tools: list[Any], **_: Any) -> ModelResponse:
        items = input if isinstance(input, list) else []
        seen = [_text(item["output"]) for item in items if item.get("type") == "function_call_output"]
        said = self._script(seen, [tool.name for tool in tools])
        if isinstance(said, str):
            text = ResponseOutputText(type="output_text", text=said, annotations=[])
            output: list[Any] = [
                ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
            ]
        else:
            output = [
                ResponseFunctionToolCall(
                    type="function_call", call_id=call_id, name=name, arguments=_written(arguments)
                )
                for call_id, name, arguments in said
            ]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("the script is not streamed")


def _text(output: Any) -> str:
    return output if isinstance(output, str) else "".join(part["text"] for part in output)


def _written(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


if __name__ == "__main__":
    asyncio.run(tell(run))
