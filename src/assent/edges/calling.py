"""How are the tools of a server called from a program or a command line, with whatever its contracts ask for?

Keys go along in `_meta`; a question is answered as the call was told to, for there is nobody to be asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import mcp_types as types
from mcp import Client, InputRequiredRoundsExceededError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import REQUEST_TIMEOUT

from assent.edges.idempotency_key import META_KEY
from assent.errors import AssentError, SilentError, UnansweredError

PATIENCE = 30.0
_STARTING = 60.0


class Caller:
    """A connection on which tools are called, one call at a time."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self.client: Client | None = None
        self._patience = patience
        self.asked = 0
        self._agrees = True

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, key: str | None = None, agree: bool = True
    ) -> dict[str, Any]:
        """The result as JSON; raises UnansweredError where there is none."""
        assert self.client is not None
        self._agrees = agree
        meta: Any = {META_KEY: key} if key is not None else None
        try:
            result = await self.client.call_tool(tool, dict(arguments), read_timeout_seconds=self._patience, meta=meta)
        except (MCPError, InputRequiredRoundsExceededError, TimeoutError) as error:
            late = isinstance(error, TimeoutError) or (isinstance(error, MCPError) and error.code == REQUEST_TIMEOUT)
            if late:
                raise SilentError(f"nothing came within {self._patience:g} s") from None
            raise UnansweredError(str(error) or "it gave no reason") from None
        said: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        return said

    async def answer(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        """What the server hears when it asks; a page to be opened and a form that needs words are declined."""
        self.asked += 1
        schema = params.requested_schema if isinstance(params, types.ElicitRequestFormParams) else None
        content = _filled(schema) if schema is not None and self._agrees else None
        if content is None:
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content=content or None)


def _filled(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Yes to whatever is a question of yes or no, the first of what can be chosen, and nothing made up."""
    filled: dict[str, Any] = {}
    for name in schema.get("required") or ():
        field = (schema.get("properties") or {}).get(name) or {}
        if field.get("type") == "boolean":
            filled[name] = True
        elif field.get("enum") or "default" in field:
            filled[name] = (field.get("enum") or [field.get("default")])[0]
        else:
            return None
    return filled


@asynccontextmanager
async def calling(
    server: Any = None,
    *,
    url: str | None = None,
    command: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
    era: str = "auto",
    patience: float = PATIENCE,
) -> AsyncIterator[Caller]:
    """Connect to a server object, a URL or a command while the block runs; `era` is a mode of the SDK's client.

    A call that has no answer after `patience` seconds is given up.
    """
    failed: AssentError | None = None
    async with AsyncExitStack() as stack:
        where: Any = server
        if command:
            where = StdioServerParameters(command=command[0], args=list(command[1:]))
        elif url is not None:
            http = await stack.enter_async_context(create_mcp_http_client(headers=dict(headers or {})))
            where = streamable_http_client(url, http_client=http)
        caller = Caller(patience)
        try:
            async with asyncio.timeout(_STARTING):
                client = Client(where, mode=era, elicitation_callback=caller.answer)
                caller.client = await stack.enter_async_context(client)
        except TimeoutError:
            raise AssentError(f"the server cannot be reached: it said nothing for {_STARTING:g} s") from None
        except (OSError, MCPError, BaseExceptionGroup) as error:
            raise AssentError(f"the server cannot be reached: {error}") from None
        try:
            yield caller
        except AssentError as error:
            # Outside of the client's task group, which would wrap it into a group of its own.
            failed = error
    if failed is not None:
        raise failed
