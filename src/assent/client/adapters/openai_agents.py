"""Adapter for OpenAI's Agents SDK: a governed client as an MCP server.

agent = Agent(name="buyer", mcp_servers=[GovernedServer(client)])
"""

from __future__ import annotations

from typing import Any

import mcp_types as types

from assent.client.adapters.toolbox import Toolbox
from assent.client.governed_client import GovernedClient
from assent.client.message_formats import refused
from assent.client.question import model_text
from assent.features import missing_package

try:
    from agents import AgentBase, ModelBehaviorError, RunContextWrapper
    from agents.mcp import MCPServer, MCPToolMetaContext
    from agents.tool_context import ToolContext
except ModuleNotFoundError as error:
    raise ImportError(missing_package(error)) from error

_CALL_ID = "dev.assent/call_id"


class GovernedServer(MCPServer):
    """The tools of a governed client, listed again at every turn of a run.

    The caller enters and leaves the client; `connect` and `cleanup` do nothing.
    """

    def __init__(self, client: GovernedClient | Toolbox, *, name: str = "assent") -> None:
        super().__init__(failure_error_function=_explain_error, tool_meta_resolver=self._meta)
        self._toolbox = Toolbox.of(client)
        self._name = name

    def _meta(self, context: MCPToolMetaContext) -> dict[str, Any] | None:
        """The call id. This is the only place where the SDK tells a server of the call and of the user's words."""
        run = context.run_context
        self._toolbox.hear(getattr(run, "turn_input", None) or ())
        return {_CALL_ID: run.tool_call_id} if isinstance(run, ToolContext) else None

    @property
    def name(self) -> str:
        return self._name

    async def connect(self) -> None:
        return None

    async def cleanup(self) -> None:
        return None

    async def list_tools(
        self, run_context: RunContextWrapper[Any] | None = None, agent: AgentBase[Any] | None = None
    ) -> list[types.Tool]:
        return await self._toolbox.tools()

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None
    ) -> types.CallToolResult:
        result = await self._toolbox.call((meta or {}).get(_CALL_ID), tool_name, arguments)
        # One text block, quoted if needed; the SDK would show the blocks unquoted.
        block = types.TextContent(type="text", text=model_text(result))
        return types.CallToolResult(content=[block], is_error=result.is_error)

    async def list_prompts(self) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[])

    async def get_prompt(self, name: str, arguments: dict[str, Any] | None = None) -> types.GetPromptResult:
        raise ValueError(f"there is no prompt {name!r}: a governed client has tools only")


def _explain_error(context: RunContextWrapper[Any], error: Exception) -> str:
    """Describe an error that the SDK found before the call, in words that help the model."""
    if isinstance(error, ModelBehaviorError):
        return model_text(refused("validate.malformed", "The arguments are not an object of JSON values."))
    return model_text(refused("execute.failed"))
