"""Adapter for pydantic-ai: a governed client as a toolset.

agent = Agent(model, toolsets=[GovernedToolset(client)])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mcp_types as types

from assent.client.adapters.toolbox import Toolbox, read_arguments
from assent.client.governed_client import GovernedClient
from assent.client.question import model_text
from assent.core.outcome import Refusal
from assent.core.problems import text_of_problem
from assent.features import missing_package

try:
    from pydantic_ai import RunContext, ToolDefinition
    from pydantic_ai.exceptions import ToolFailed
    from pydantic_ai.messages import UserPromptPart
    from pydantic_ai.tools import AgentDepsT
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
except ModuleNotFoundError as error:
    raise ImportError(missing_package(error)) from error


class GovernedToolset(AbstractToolset[AgentDepsT]):
    """The tools of a governed client, listed again at every step of a run.

    The caller enters and leaves the client. A refusal reaches the model as a failed result, which uses no retries and
    does not end the run.
    """

    def __init__(self, client: GovernedClient | Toolbox, *, id: str | None = None) -> None:
        self._toolbox = Toolbox.of(client)
        self._id = id

    @property
    def id(self) -> str | None:
        return self._id

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        return {tool.name: self._toolset_tool(tool, ctx) for tool in await self._toolbox.tools()}

    def _toolset_tool(self, tool: types.Tool, ctx: RunContext[AgentDepsT]) -> ToolsetTool[AgentDepsT]:
        hints = tool.annotations.model_dump(by_alias=True, exclude_none=True) if tool.annotations else {}
        definition = ToolDefinition(
            name=tool.name,
            description=tool.description,
            parameters_json_schema=tool.input_schema,
            strict=False,
            metadata={"annotations": hints},
        )
        return ToolsetTool(toolset=self, tool_def=definition, max_retries=ctx.max_retries, args_validator=_AnyObject())

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> Any:
        self._toolbox.hear(_user_messages(ctx.messages))
        result = await self._toolbox.call(ctx.tool_call_id, name, tool_args)
        if result.is_error:
            raise ToolFailed(model_text(result))
        return model_text(result)


def _user_messages(messages: Sequence[Any]) -> list[dict[str, Any]]:
    """The user's prompts in the messages of a run."""
    parts = [part for message in messages for part in message.parts if isinstance(part, UserPromptPart)]
    texts = [[part.content] if isinstance(part.content, str) else part.content for part in parts]
    return [{"role": "user", "content": text} for found in texts for text in found if isinstance(text, str)]


class _AnyObject:
    """Validator that accepts any object; the toolbox checks it, so that all errors look the same."""

    def validate_json(self, input: str | bytes | bytearray, **_: Any) -> Any:
        return self.validate_python(bytes(input) if isinstance(input, bytearray) else input)

    def validate_python(self, input: Any, **_: Any) -> Any:
        try:
            return read_arguments(input)
        except Refusal as refused:
            raise ToolFailed(text_of_problem(refused.problem())) from None
