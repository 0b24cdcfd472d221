"""Adapter for a loop over Anthropic's Messages API.

message = await converse(AsyncAnthropic(), client, messages, model="...", max_tokens=1024)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from assent.client.adapters.toolbox import Toolbox, offer
from assent.client.governed_client import GovernedClient
from assent.client.message_formats import anthropic_result, anthropic_tools, refused

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.types import Message


async def converse(
    api: AsyncAnthropic, client: GovernedClient | Toolbox, messages: list[Any], *, turns: int = 50, **request: Any
) -> Message:
    """Run until the model calls no more tools; append everything to `messages` and return the last message.

    Stop after `turns` messages too; the last one then has `stop_reason` "tool_use".
    """
    toolbox, create = Toolbox.of(client), cast(Any, api.messages.create)
    toolbox.hear(messages)
    for _ in range(max(turns, 1)):
        offered = offer(anthropic_tools(await toolbox.tools()), request)
        message: Message = await create(messages=messages, **offered)
        messages.append({"role": "assistant", "content": [_as_sent(block) for block in message.content]})
        results = await answer(toolbox, message)
        if results:
            messages.append({"role": "user", "content": results})
        if message.stop_reason not in ("tool_use", "pause_turn"):
            break
    return message


async def answer(toolbox: Toolbox, message: Message) -> list[dict[str, Any]]:
    """Return the `tool_result` blocks for the calls in a message. Calls of a truncated message are not made."""
    uses = [block for block in message.content if block.type == "tool_use"]
    if message.stop_reason != "tool_use":
        cut = refused("validate.malformed", f"Not called: the message ended with {message.stop_reason}.")
        return [anthropic_result(use.id, cut) for use in uses]
    results = await toolbox.call_all([(use.id, use.name, use.input) for use in uses])
    return [anthropic_result(use.id, result) for use, result in zip(uses, results, strict=True)]


def _as_sent(block: Any) -> dict[str, Any]:
    """Return a block in the form the API accepts; an input that is not an object is left out."""
    sent: dict[str, Any] = block.model_dump(mode="json", exclude_unset=True, warnings=False)
    return {**sent, "input": {}} if sent["type"] == "tool_use" and not isinstance(sent.get("input"), dict) else sent
