"""How does an agent of OpenAI's Agents SDK use a governed client? As an MCP server.

agent = Agent(name="buyer", mcp_servers=[GovernedServer(client)])
"""

from __future__ import annotations

from typing import Any

import mcp_types as types

from assent.client.adapters.toolbox import Toolbox, refused
from assent.client.governed_client import GovernedClient
from assent.client.quoted_text import model_text

try:
    from agents import AgentBase, ModelBehaviorError, RunContextWrapper
    from agents.mcp import MCPServer, MCPToolMetaContext
    from agents.tool_context import ToolContext
except ImportError as error:
    raise ImportError("The Agents SDK is needed here: pip install 'assent[openai-agents]'") from error

_CALL_ID = "dev.assent/call_id"


class GovernedServer(MCPServer):
    """The tools of a governed client, listed anew at every turn of a run.

    The client is entered and left by the caller; `connect` and `cleanup` do nothing.
    """

    def __init__(self, client: GovernedClient | Toolbox, *, name: str = "assent") -> None:
        super().__init__(failure_error_function=_told, tool_meta_resolver=_call_id)
        self._toolbox = Toolbox.of(client)
        self._name = name

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
        # The SDK would show the blocks as they are; a model reads them as one text, quoted where it must be.
        block = types.TextContent(type="text", text=model_text(result))
        return types.CallToolResult(content=[block], is_error=result.is_error)

    async def list_prompts(self) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[])

    async def get_prompt(self, name: str, arguments: dict[str, Any] | None = None) -> types.GetPromptResult:
        raise ValueError(f"there is no prompt {name!r}: a governed client has tools only")


def _call_id(context: MCPToolMetaContext) -> dict[str, Any] | None:
    """The only way the SDK tells a server which of the model's calls this is."""
    run = context.run_context
    return {_CALL_ID: run.tool_call_id} if isinstance(run, ToolContext) else None


def _told(context: RunContextWrapper[Any], error: Exception) -> str:
    """What the SDK found wrong before the call got here, in words that help the model more than its own."""
    if isinstance(error, ModelBehaviorError):
        return model_text(refused("validate.malformed", "The arguments are not an object of JSON values."))
    return model_text(refused("execute.failed"))
