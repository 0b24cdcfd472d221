"""How is the connection to a server kept, and made again when it breaks?

A client of the SDK must be entered and left by one task. So every connection has a task of its own, and calls may come
from anywhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Protocol

import mcp_types as types

from assent.client.challenges import exchange


class ConnectedClient(Protocol):
    """What a governed client needs of a connected client: the official one has it, and FastMCP's is made to."""

    @property
    def server_info(self) -> types.Implementation | None: ...

    async def list_tools(self, *, cursor: str | None = None, cache_mode: Any = ...) -> types.ListToolsResult: ...

    async def call_tool(
        self, name: str, arguments: dict[str, Any] | None = None, *, meta: Any = None
    ) -> types.CallToolResult: ...


Connect = Callable[[], AbstractAsyncContextManager[ConnectedClient]]


class Unreached(Exception):
    """No connection could be made; nothing was sent."""


class _Held:
    """One entered client and the task that holds it."""

    def __init__(self, connect: Connect) -> None:
        self._closing = asyncio.Event()
        self.ready: asyncio.Future[ConnectedClient] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold(connect))

    async def _hold(self, connect: Connect) -> None:
        try:
            async with connect() as client:
                self.ready.set_result(client)
                await self._closing.wait()
        except asyncio.CancelledError:
            if not self.ready.done():
                self.ready.cancel()
            raise
        except Exception as error:
            # Once it was ready, whoever is calling has seen the failure already.
            if not self.ready.done():
                self.ready.set_exception(error)

    async def close(self) -> None:
        self._closing.set()
        if not self.ready.done():
            self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


class ServerConnection:
    """The current client of a server; `broken` has the next call make a new one."""

    def __init__(self, connect: Connect, within: float) -> None:
        self._connect = connect
        self._within = within
        self._held: _Held | None = None
        self._client: ConnectedClient | None = None
        self._turn = asyncio.Lock()
        self.opened = 0

    async def client(self) -> ConnectedClient:
        """The connected client; raises Unreached without a connection in time, Challenged for refused credentials."""
        if self._client is not None:
            return self._client
        async with self._turn:
            if self._client is None:
                await self._drop()
                self._client = await self._open()
            return self._client

    def broken(self, client: ConnectedClient) -> None:
        """Say that this client is of no more use; one that was replaced already is left alone."""
        if self._client is client:
            self._client = None

    async def close(self) -> None:
        async with self._turn:
            self._client = None
            await self._drop()

    async def _open(self) -> ConnectedClient:
        with exchange() as seen:
            self._held = held = _Held(self._connect)
        try:
            async with asyncio.timeout(self._within):
                client = await asyncio.shield(held.ready)
        except Exception as error:
            await self._drop()
            if seen.challenge is not None:
                raise seen.challenge from error
            raise Unreached(f"the server could not be reached: {_why(error, self._within)}") from error
        self.opened += 1
        return client

    async def _drop(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            await held.close()


def _why(error: BaseException, within: float) -> str:
    """The cause in words: groups of exceptions, in which the SDK hands it out, say nothing themselves."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"no answer within {within:g} seconds"
    return f"{error} ({type(error).__name__})" if str(error) else type(error).__name__
