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
from mcp_types import CONNECTION_CLOSED
from pydantic import ValidationError

from assent.errors import AssentError, EndedError, SilentError, UnansweredError
from assent.mcp.idempotency_key import META_KEY
from assent.probe.errors import reason_of
from assent.probe.list_tools import mute_sdk_parse_errors, sdk_server, unread_answer

PATIENCE = 30.0
_STARTING = 60.0
_MOMENT = 1.0
_CLOSED = ("Connection closed", "SSE stream ")


class ToolCaller:
    """A connection on which tools are called, one call at a time."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self.client: Client | None = None
        self.held: asyncio.Task[None] | None = None
        """What keeps the connection open; it ends early where the server does."""
        self._patience = patience
        self.asked = 0
        self._agrees = True
        self._unread = asyncio.Event()

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, key: str | None = None, agree: bool = True
    ) -> dict[str, Any]:
        """The result as JSON; raises UnansweredError where there is none."""
        self._agrees = agree
        meta: Any = {META_KEY: key} if key is not None else None
        try:
            result = await self._answered(tool, dict(arguments), meta)
        except ValidationError:
            raise UnansweredError("what it answered is no result of a tool") from None
        except (MCPError, InputRequiredRoundsExceededError) as error:
            if isinstance(error, MCPError) and _is_closed(error):
                raise EndedError("the server ended") from None
            raise UnansweredError(str(error) or "it gave no reason") from None
        said: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        return said

    async def _answered(self, tool: str, arguments: dict[str, Any], meta: Any) -> types.CallToolResult:
        """The answer, unless the connection goes first or it cannot be read: then nobody would ever say so."""
        assert self.client is not None and self.held is not None
        self._unread.clear()
        asking = asyncio.ensure_future(self.client.call_tool(tool, arguments, meta=meta))
        unread = asyncio.ensure_future(self._unread.wait())
        try:
            # The SDK says that time is up by a code which servers use as well, so it is measured here.
            first = {asking, unread, self.held}
            await asyncio.wait(first, timeout=self._patience, return_when=asyncio.FIRST_COMPLETED)
            if unread.done() and not asking.done():
                # It may have been somebody else's line: the answer is given a moment.
                await asyncio.wait({asking, self.held}, timeout=_MOMENT, return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                return asking.result()
            if self.held.done():
                raise EndedError("the server ended")
            if unread.done():
                raise UnansweredError("what it answered could not be read")
            raise SilentError(f"nothing came within {self._patience:g} s")
        finally:
            for task in (asking, unread):
                task.cancel()
                await _over(task)

    async def responds(self) -> bool:
        """Whether the server says anything at all."""
        assert self.client is not None and self.held is not None
        asking = asyncio.ensure_future(self.client.list_tools(cache_mode="bypass"))
        try:
            await asyncio.wait({asking, self.held}, timeout=self._patience, return_when=asyncio.FIRST_COMPLETED)
            return asking.done() and not self.held.done()
        finally:
            asking.cancel()
            await _over(asking)

    async def hear(self, message: Any) -> None:
        """What comes beside answers. Calls are made one by one: an answer nobody can read is of the one under way."""
        if isinstance(message, Exception) and unread_answer(message) is not None:
            self._unread.set()

    async def answer(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        """What the server hears when it asks; a page to be opened and a form that needs words are declined."""
        self.asked += 1
        schema = params.requested_schema if isinstance(params, types.ElicitRequestFormParams) else None
        content = _filled(schema) if schema is not None and self._agrees else None
        if content is None:
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content=content or None)


def _is_closed(error: MCPError) -> bool:
    """Whether the SDK says that the connection went: its code alone is that of many a server's own errors."""
    return error.code == CONNECTION_CLOSED and error.message.startswith(_CLOSED)


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
    env: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    era: str = "auto",
    patience: float = PATIENCE,
) -> AsyncIterator[ToolCaller]:
    """Connect to a server object, a URL or a command while the block runs; `era` is a mode of the SDK's client.

    `env` is what a command finds in its environment beside the little that every command does.
    A call that has no answer after `patience` seconds is given up. The connection is held by a task of its own: where
    it breaks, the block is not torn down with it but hears of it at its next call.
    """
    caller, over = ToolCaller(patience), asyncio.Event()
    ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def hold() -> None:
        async with AsyncExitStack() as stack:
            where: Any
            stack.enter_context(mute_sdk_parse_errors())
            if command:
                extra = dict(env) if env is not None else None
                where = StdioServerParameters(
                    command=command[0], args=list(command[1:]), env=extra, encoding_error_handler="replace"
                )
            elif url is not None:
                http = await stack.enter_async_context(create_mcp_http_client(headers=dict(headers or {})))
                where = streamable_http_client(url, http_client=http)
            else:
                where = sdk_server(server)
            client = Client(where, mode=era, elicitation_callback=caller.answer, message_handler=caller.hear)
            caller.client = await stack.enter_async_context(client)
            # The client would raise on an answer off its schema and keep it; that answer is what is looked for.
            client.session.validate_tool_result = _left_to_others  # type: ignore[method-assign]
            ready.set_result(None)
            await over.wait()

    caller.held = asyncio.create_task(hold())
    try:
        await _connected(caller.held, ready)
        yield caller
    finally:
        over.set()
        if not ready.done():
            caller.held.cancel()
        await _over(caller.held)


async def _over(task: asyncio.Future[Any]) -> None:
    """Wait for the end of a task, however it ends."""
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()


async def _left_to_others(name: str, result: types.CallToolResult) -> None:
    """No answer is held against its schema here."""


async def _connected(held: asyncio.Task[None], ready: asyncio.Future[None]) -> None:
    """Wait until the connection stands; raises AssentError with the reason where it never does."""
    await asyncio.wait({held, ready}, timeout=_STARTING, return_when=asyncio.FIRST_COMPLETED)
    if ready.done():
        return
    if not held.done():
        raise AssentError(f"the server cannot be reached: it said nothing for {_STARTING:g} s")
    reason = held.exception()
    if reason is not None and not isinstance(reason, OSError | MCPError | TimeoutError | BaseExceptionGroup):
        raise reason
    raise AssentError(f"the server cannot be reached: {reason_of(reason)}") from None
