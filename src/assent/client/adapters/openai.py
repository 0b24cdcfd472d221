"""Adapter for loops over OpenAI's Chat Completions and Responses APIs.

completion = await converse(AsyncOpenAI(), client, messages, model="...")
response = await respond(AsyncOpenAI(), client, items, model="...")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from assent.client.adapters.toolbox import Toolbox, offer
from assent.client.governed_client import GovernedClient
from assent.client.message_formats import openai_result, openai_tools, refused
from assent.client.question import model_text

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletion
    from openai.types.chat.chat_completion import Choice
    from openai.types.responses import Response


async def converse(
    api: AsyncOpenAI, client: GovernedClient | Toolbox, messages: list[Any], *, turns: int = 50, **request: Any
) -> ChatCompletion:
    """Run until the model calls no more tools; append everything to `messages` and return the last completion.

    Stop after `turns` messages too; the last one then has `finish_reason` "tool_calls".
    """
    toolbox, create = Toolbox.of(client), cast(Any, api.chat.completions.create)
    toolbox.hear(messages)
    for _ in range(max(turns, 1)):
        offered = offer(openai_tools(await toolbox.tools()), request)
        said: ChatCompletion = await create(messages=messages, **offered)
        messages.append(said.choices[0].message.model_dump(mode="json", exclude_none=True, warnings=False))
        results = await answer(toolbox, said.choices[0])
        messages.extend(results)
        if not results or said.choices[0].finish_reason == "length":
            break
    return said


async def answer(toolbox: Toolbox, choice: Choice) -> list[dict[str, Any]]:
    """Return the `tool` messages for the calls of a choice. Calls of a truncated message are not made."""
    calls = choice.message.tool_calls or []
    if choice.finish_reason == "length":
        return [openai_result(call.id, _truncated_result()) for call in calls]
    results = await toolbox.call_all([(call.id, *_name_and_arguments(call)) for call in calls])
    return [openai_result(call.id, result) for call, result in zip(calls, results, strict=True)]


async def respond(
    api: AsyncOpenAI, client: GovernedClient | Toolbox, items: list[Any], *, turns: int = 50, **request: Any
) -> Response:
    """The same with the Responses API: `items` is its `input`, and grows."""
    toolbox, create = Toolbox.of(client), cast(Any, api.responses.create)
    toolbox.hear(items)
    for _ in range(max(turns, 1)):
        offered = offer([_response_tool(tool) for tool in openai_tools(await toolbox.tools())], request)
        said: Response = await create(input=items, **offered)
        items.extend(item.model_dump(mode="json", exclude_none=True, warnings=False) for item in said.output)
        outputs = await answer_response(toolbox, said)
        items.extend(outputs)
        if not outputs or said.status == "incomplete":
            break
    return said


async def answer_response(toolbox: Toolbox, response: Response) -> list[dict[str, Any]]:
    """Return the `function_call_output` items for the calls of a response."""
    calls = [item for item in response.output if item.type == "function_call"]
    if response.status == "incomplete":
        results = [_truncated_result() for _ in calls]
    else:
        results = await toolbox.call_all([(call.call_id, call.name, call.arguments) for call in calls])
    return [
        {"type": "function_call_output", "call_id": call.call_id, "output": model_text(result)}
        for call, result in zip(calls, results, strict=True)
    ]


def _name_and_arguments(call: Any) -> tuple[str, Any]:
    """Return name and arguments; a custom tool's input is free text, which none of these tools accepts."""
    return (call.function.name, call.function.arguments) if call.type == "function" else (call.custom.name, [])


def _truncated_result() -> Any:
    return refused("validate.malformed", "Not called: the message was cut off.")


def _response_tool(tool: dict[str, Any]) -> dict[str, Any]:
    # Not strict, because strict mode needs a kind of schema that servers do not write.
    return {"type": "function", "strict": False, **tool["function"]}
