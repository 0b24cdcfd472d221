"""How does a plain loop over OpenAI's Chat Completions or Responses API use a governed client?

completion = await converse(AsyncOpenAI(), client, messages, model="...")
response = await respond(AsyncOpenAI(), client, items, model="...")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from assent.client.adapters.toolbox import Toolbox, offer, refused
from assent.client.governed_client import GovernedClient
from assent.client.message_formats import openai_result, openai_tools
from assent.client.quoted_text import model_text

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletion
    from openai.types.chat.chat_completion import Choice
    from openai.types.responses import Response


async def converse(
    api: AsyncOpenAI, client: GovernedClient | Toolbox, messages: list[Any], *, turns: int = 50, **request: Any
) -> ChatCompletion:
    """Go on until the model calls no more tools; `messages` grows by all that is said, and the last is returned.

    After `turns` messages of the model it ends too; the last then has `finish_reason` "tool_calls".
    """
    toolbox, create = Toolbox.of(client), cast(Any, api.chat.completions.create)
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
    """The `tool` messages for the calls of a choice. Calls of one that was cut off are not made."""
    calls = choice.message.tool_calls or []
    if choice.finish_reason == "length":
        return [openai_result(call.id, _cut()) for call in calls]
    results = await toolbox.call_all([(call.id, *_wanted(call)) for call in calls])
    return [openai_result(call.id, result) for call, result in zip(calls, results, strict=True)]


async def respond(
    api: AsyncOpenAI, client: GovernedClient | Toolbox, items: list[Any], *, turns: int = 50, **request: Any
) -> Response:
    """The same with the Responses API: `items` is its `input`, and grows."""
    toolbox, create = Toolbox.of(client), cast(Any, api.responses.create)
    for _ in range(max(turns, 1)):
        offered = offer([_flat(tool) for tool in openai_tools(await toolbox.tools())], request)
        said: Response = await create(input=items, **offered)
        items.extend(item.model_dump(mode="json", exclude_none=True, warnings=False) for item in said.output)
        outputs = await answer_response(toolbox, said)
        items.extend(outputs)
        if not outputs or said.status == "incomplete":
            break
    return said


async def answer_response(toolbox: Toolbox, response: Response) -> list[dict[str, Any]]:
    """The `function_call_output` items for the calls of a response."""
    calls = [item for item in response.output if item.type == "function_call"]
    if response.status == "incomplete":
        results = [_cut() for _ in calls]
    else:
        results = await toolbox.call_all([(call.call_id, call.name, call.arguments) for call in calls])
    return [
        {"type": "function_call_output", "call_id": call.call_id, "output": model_text(result)}
        for call, result in zip(calls, results, strict=True)
    ]


def _wanted(call: Any) -> tuple[str, Any]:
    """Name and arguments; a custom tool's input is free text, which none of these tools takes."""
    return (call.function.name, call.function.arguments) if call.type == "function" else (call.custom.name, [])


def _cut() -> Any:
    return refused("validate.malformed", "Not called: the message was cut off.")


def _flat(tool: dict[str, Any]) -> dict[str, Any]:
    # Not strict: that needs schemas of a special kind, and servers write others.
    return {"type": "function", "strict": False, **tool["function"]}
