"""A server nobody governs: it lists what a test says and keeps its own log of what it was told to do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server

Does = Callable[[dict[str, Any]], Any]


def tool(name: str, *arguments: str, tier: str | None = None, contract: Any = None, **hints: Any) -> types.Tool:
    """A definition; every argument takes anything."""
    meta = {key: value for key, value in (("x-side-effect", tier), ("dev.assent/contract", contract)) if value}
    return types.Tool(
        name=name,
        input_schema={"type": "object", "properties": {argument: {} for argument in arguments}},
        annotations=types.ToolAnnotations(**hints) if hints else None,
        _meta=meta or None,
    )


def said(structured: Any = None, *, is_error: bool = False, text: str = "done") -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structured_content=structured, is_error=is_error)


class Plain:
    """`tools` may be changed at any time; `does` answers calls by tool, once per item of a list."""

    def __init__(self, *tools: types.Tool, **does: Any) -> None:
        self.tools = list(tools)
        self.does = does
        self.log: list[tuple[str, dict[str, Any]]] = []
        self.metas: list[dict[str, Any]] = []
        self.contexts: list[Any] = []
        self.server: Server[Any] = Server("plain", on_list_tools=self._list, on_call_tool=self._call)

    @property
    def called(self) -> list[str]:
        return [name for name, _ in self.log]

    async def _list(self, context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list(self.tools))

    async def _call(self, context: Any, params: types.CallToolRequestParams) -> Any:
        self.log.append((params.name, dict(params.arguments or {})))
        self.metas.append(dict(params.meta or {}))
        does = self.does.get(params.name, said())
        if isinstance(does, list):
            does = does.pop(0) if len(does) > 1 else does[0]
        if isinstance(does, Exception):
            raise does
        if callable(does):
            ended = does(context, params)
            does = await ended if isinstance(ended, Awaitable) else ended
        return does
