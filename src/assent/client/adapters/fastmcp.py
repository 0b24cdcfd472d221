"""Adapter that makes FastMCP's client look like the official one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from typing import Any, Self

import httpx2
import mcp_types as types
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError

from assent.client.connection import hook_into

_TOLD = (MCPError, httpx2.HTTPError, OSError)


def fastmcp_client_factory(server: Any) -> Callable[..., FastMCPCaller] | None:
    """Return a factory of callers for a FastMCP client or server; None for anything else."""
    fastmcp = sys.modules.get("fastmcp")  # if it was not imported, the object cannot come from it
    if fastmcp is None:
        return None
    if isinstance(server, fastmcp.FastMCP):
        server = fastmcp.Client(server)
    return partial(FastMCPCaller, server) if isinstance(server, fastmcp.Client) else None


def _with_hooks(transport: Any) -> Any:
    """Return the transport, or a copy with our hooks on the HTTP client that it makes."""
    if not hasattr(transport, "httpx_client_factory") or not hasattr(transport, "_make_verify_factory"):
        return transport
    own = transport.httpx_client_factory
    plain = transport._make_verify_factory() or create_mcp_http_client

    def make(**options: Any) -> httpx2.AsyncClient:
        if own is None:
            options.pop("follow_redirects", None)
        return hook_into((own or plain)(**options))

    made = copy(transport)
    made.httpx_client_factory = make
    return made


class FastMCPCaller:
    """A separate connection with the client's configuration; our callbacks replace its own."""

    def __init__(self, client: Any, *, elicitation_callback: Any, message_handler: Any) -> None:
        self._client = client.new()
        self._client.transport = _with_hooks(self._client.transport)
        self._asks = elicitation_callback
        if elicitation_callback is not None:
            self._client.set_elicitation_callback(self._ask)
        else:
            self._client._session_kwargs.pop("elicitation_callback", None)
        self._client._session_kwargs["message_handler"] = message_handler

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *ending: Any) -> None:
        await self._client.__aexit__(*ending)

    @property
    def server_info(self) -> types.Implementation | None:
        found: types.Implementation | None = self._client.server_info
        return found

    async def list_tools(self, *, cursor: str | None = None, cache_mode: Any = "refresh") -> types.ListToolsResult:
        page: types.ListToolsResult = await self._translate_errors(
            self._client.list_tools_mcp(cursor=cursor, cache_mode=cache_mode)
        )
        return page

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, meta: Any = None
    ) -> types.CallToolResult:
        result: types.CallToolResult = await self._translate_errors(
            self._client.call_tool_mcp(name, dict(arguments or {}), meta=meta)
        )
        return result

    async def _translate_errors(self, request: Any) -> Any:
        """Return the answer. FastMCP reports a dead session with different errors, which become one."""
        try:
            return await request
        except _TOLD:
            raise
        except Exception as error:
            task = self._client._session_state.session_task
            if task is None or task.done():
                raise ConnectionResetError(f"{type(error).__name__}: {error}") from error
            raise

    async def _ask(self, message: str, kind: Any, params: types.ElicitRequestParams, context: Any) -> Any:
        return await self._asks(context, params)
