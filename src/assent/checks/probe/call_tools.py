"""Calls the tools of a server from a command or a test.

Idempotency keys are sent in `_meta`. Questions of the server are answered automatically, as the call says.
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

from assent.checks.probe.list_tools import mute_sdk_parse_errors, reason_of, sdk_server, unread_answer
from assent.core.approval import reading_time
from assent.errors import AssentError, EndedError, SilentError, UnansweredError
from assent.mcp.requests import META_KEY

PATIENCE = 30.0
_STARTING = 60.0
_MOMENT = 1.0
_CLOSED = ("Connection closed", "SSE stream ")


class ToolCaller:
    """A connection on which tools are called, one call at a time."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self.client: Client | None = None
        self.held: asyncio.Task[None] | None = None
        """The task that keeps the connection open; it ends early if the server ends."""
        self._patience = patience
        self.questions_asked = 0
        self._agrees = True
        self._unread = asyncio.Event()

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, key: str | None = None, agree: bool = True
    ) -> dict[str, Any]:
        """Calls a tool and returns the result as JSON; raises UnansweredError if there is none."""
        self._agrees = agree
        meta: Any = {META_KEY: key} if key is not None else None
        try:
            result = await self._wait_for_answer(tool, dict(arguments), meta)
        except ValidationError:
            raise UnansweredError("its answer is not a valid tool result") from None
        except (MCPError, InputRequiredRoundsExceededError) as error:
            if isinstance(error, MCPError) and _is_closed(error):
                raise EndedError("the server ended") from None
            raise UnansweredError(str(error) or "it gave no reason") from None
        document: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        return document

    async def _wait_for_answer(self, tool: str, arguments: dict[str, Any], meta: Any) -> types.CallToolResult:
        """The answer; raises if the connection ends first or the answer cannot be read."""
        assert self.client is not None and self.held is not None
        self._unread.clear()
        asking = asyncio.ensure_future(self.client.call_tool(tool, arguments, meta=meta))
        unread = asyncio.ensure_future(self._unread.wait())
        try:
            # Servers use the SDK's timeout code too, so the time is measured here.
            first = {asking, unread, self.held}
            await asyncio.wait(first, timeout=self._patience, return_when=asyncio.FIRST_COMPLETED)
            if unread.done() and not asking.done():
                # The unreadable line may not be the response; wait a moment longer for it.
                await asyncio.wait({asking, self.held}, timeout=_MOMENT, return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                return asking.result()
            if self.held.done():
                raise EndedError("the server ended")
            if unread.done():
                raise UnansweredError("its answer could not be read")
            raise SilentError(f"no answer came within {self._patience:g} s")
        finally:
            for task in (asking, unread):
                task.cancel()
                await _wait_until_done(task)

    async def responds(self) -> bool:
        """Whether the server answers anything at all."""
        assert self.client is not None and self.held is not None
        asking = asyncio.ensure_future(self.client.list_tools(cache_mode="bypass"))
        try:
            await asyncio.wait({asking, self.held}, timeout=self._patience, return_when=asyncio.FIRST_COMPLETED)
            return asking.done() and not self.held.done()
        finally:
            asking.cancel()
            await _wait_until_done(asking)

    async def hear(self, message: Any) -> None:
        """Handles messages that are not answers. Calls run one by one, so an unreadable answer is the current one's."""
        if isinstance(message, Exception) and unread_answer(message) is not None:
            self._unread.set()

    async def answer(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        """Answers an elicitation; URLs and forms that need free text are declined."""
        self.questions_asked += 1
        schema = params.requested_schema if isinstance(params, types.ElicitRequestFormParams) else None
        content = _fill_required(schema) if schema is not None and self._agrees else None
        if content is None:
            return types.ElicitResult(action="decline")
        # The operator has agreed to these calls. A governed server does not count a yes that comes too fast.
        await asyncio.sleep(reading_time(params.message))
        return types.ElicitResult(action="accept", content=content or None)


def _is_closed(error: MCPError) -> bool:
    """Whether the connection closed. The code alone is not enough, because servers use it too."""
    return error.code == CONNECTION_CLOSED and error.message.startswith(_CLOSED)


def _fill_required(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Fills booleans with true and enums with their first value; None if another field is required."""
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
    """Connects to a server object, a URL or a command while the block runs; `era` is a mode of the SDK's client.

    `env` is added to the minimal environment of a command. A call without an answer after `patience` seconds fails.
    A separate task holds the connection: if it breaks, the block continues and its next call raises.
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
            # The client would raise on an answer that violates its schema; the caller wants to see that answer.
            client.session.validate_tool_result = _accept_any_result  # type: ignore[method-assign]
            ready.set_result(None)
            await over.wait()

    caller.held = asyncio.create_task(hold())
    try:
        await _wait_until_connected(caller.held, ready)
        yield caller
    finally:
        over.set()
        if not ready.done():
            caller.held.cancel()
        await _wait_until_done(caller.held)


async def _wait_until_done(task: asyncio.Future[Any]) -> None:
    """Waits for the end of a task, however it ends."""
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()


async def _accept_any_result(name: str, result: types.CallToolResult) -> None:
    """Accepts every result: schemas are not checked here."""


async def _wait_until_connected(held: asyncio.Task[None], ready: asyncio.Future[None]) -> None:
    """Waits until the connection is open; raises AssentError with the reason if it fails."""
    await asyncio.wait({held, ready}, timeout=_STARTING, return_when=asyncio.FIRST_COMPLETED)
    if ready.done():
        return
    if not held.done():
        raise AssentError(f"the server cannot be reached: it did not answer within {_STARTING:g} s")
    reason = held.exception()
    if reason is not None and not isinstance(reason, OSError | MCPError | TimeoutError | BaseExceptionGroup):
        raise reason
    raise AssentError(f"the server cannot be reached: {reason_of(reason)}") from None
