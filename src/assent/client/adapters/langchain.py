"""Adapter for LangChain and LangGraph: the tools of a governed client.

governed = GovernedTools(client)
model.bind_tools(await governed.tools())
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import mcp_types as types

from assent.client.adapters.toolbox import Toolbox
from assent.client.governed_client import GovernedClient
from assent.client.question import model_text
from assent.features import missing_package

try:
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
    from langchain_core.tools import BaseTool, ToolException
    from pydantic import PrivateAttr
except ModuleNotFoundError as error:
    raise ImportError(missing_package(error)) from error


class GovernedTools:
    """The tools of a governed client. The caller enters and leaves the client in the running loop."""

    def __init__(self, client: GovernedClient | Toolbox) -> None:
        self._toolbox = Toolbox.of(client)
        self._loop = asyncio.get_running_loop()

    async def tools(self) -> list[BaseTool]:
        """Return the current tools; call it before every turn of the model to see changes."""
        return [GovernedTool.of(tool, self._toolbox, self._loop) for tool in await self._toolbox.tools()]

    def hear(self, messages: Iterable[Any]) -> None:
        """Pass on the user's own words: the texts of the human messages among these."""
        self._toolbox.hear(
            {"role": "user", "content": one.content} for one in messages if isinstance(one, HumanMessage)
        )

    async def answer(self, message: AIMessage, messages: Iterable[Any] = ()) -> list[ToolMessage]:
        """Return a message for every call of the model, also for invalid JSON and unknown tools.

        A graph node can return these messages; unlike the prebuilt node it needs no fixed list of tools. `messages` is
        the conversation so far, in which the user's words are.
        """
        self.hear(messages)
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
        # As positional arguments, because a tool may name an argument `config` or `self`.
        return (tool_input, tool_call_id), {}

    async def _arun(self, arguments: Any, call_id: str | None) -> str:
        result = await self._toolbox.call(call_id, self.name, arguments)
        if result.is_error:
            raise ToolException(model_text(result))
        return model_text(result)

    def _run(self, arguments: Any, call_id: str | None) -> str:
        """Run from another thread than the client's, for graphs without `await`."""
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
