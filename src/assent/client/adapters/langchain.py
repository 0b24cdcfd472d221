"""How do chains and graphs of LangChain and LangGraph use a governed client? As tools.

governed = GovernedTools(client)
model.bind_tools(await governed.tools())
"""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types as types

from assent.client.adapters.toolbox import Toolbox
from assent.client.governed_client import GovernedClient
from assent.client.quoted_text import model_text

try:
    from langchain_core.messages import AIMessage, ToolMessage
    from langchain_core.tools import BaseTool, ToolException
    from pydantic import PrivateAttr
except ImportError as error:
    raise ImportError("langchain-core is needed here: pip install 'assent[langchain]'") from error


class GovernedTools:
    """The tools of a governed client. The client is entered and left by the caller, in the loop that is running."""

    def __init__(self, client: GovernedClient | Toolbox) -> None:
        self._toolbox = Toolbox.of(client)
        self._loop = asyncio.get_running_loop()

    async def tools(self) -> list[BaseTool]:
        """The tools as they are now: ask again before every turn of the model, and what changed is seen."""
        return [GovernedTool.of(tool, self._toolbox, self._loop) for tool in await self._toolbox.tools()]

    async def answer(self, message: AIMessage) -> list[ToolMessage]:
        """A message for every call in the model's, those included that are no JSON or name no tool.

        A node of a graph can return these; unlike a prebuilt one it needs no list of tools from before.
        """
        calls = [*message.tool_calls, *message.invalid_tool_calls]
        made = [(call["id"], call["name"] or "", call["args"]) for call in calls]
        results = await self._toolbox.call_all(made)
        return [_message(call[0], call[1], result) for call, result in zip(made, results, strict=True)]


class GovernedTool(BaseTool):
    """One tool. Refusals are error messages to the model (`status="error"`), not exceptions."""

    handle_tool_error: Any = True
    _toolbox: Toolbox = PrivateAttr()
    _loop: asyncio.AbstractEventLoop = PrivateAttr()

    @classmethod
    def of(cls, tool: types.Tool, toolbox: Toolbox, loop: asyncio.AbstractEventLoop) -> GovernedTool:
        hints = tool.annotations.model_dump(by_alias=True, exclude_none=True) if tool.annotations else {}
        made = cls(
            name=tool.name,
            description=tool.description or "",
            args_schema=tool.input_schema,
            metadata={"annotations": hints},
        )
        made._toolbox, made._loop = toolbox, loop
        return made

    def _to_args_and_kwargs(
        self, tool_input: str | dict[str, Any], tool_call_id: str | None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        # As positions, not as keywords: a tool may call an argument `config` or `self`. And with the call's id.
        return (tool_input, tool_call_id), {}

    async def _arun(self, arguments: Any, call_id: str | None) -> str:
        result = await self._toolbox.call(call_id, self.name, arguments)
        if result.is_error:
            raise ToolException(model_text(result))
        return model_text(result)

    def _run(self, arguments: Any, call_id: str | None) -> str:
        """From another thread than the client's, for graphs that are run without `await`."""
        if _running() is self._loop:
            raise RuntimeError("the client's own loop cannot wait for itself: await ainvoke() instead of invoke()")
        return asyncio.run_coroutine_threadsafe(self._arun(arguments, call_id), self._loop).result()


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _message(call_id: str | None, name: str, result: types.CallToolResult) -> ToolMessage:
    status: Any = "error" if result.is_error else "success"
    return ToolMessage(content=model_text(result), tool_call_id=call_id or "", name=name, status=status)
