"""An application on a socket of 127.0.0.1, in the test's own loop."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

from assent.web.asgi import App
from assent.web.server import bind, make_server

MOMENT = 0.001


class PromptServer(uvicorn.Server):
    """uvicorn's server without its naps of a tenth of a second, of which a test would sleep two or three."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._told = asyncio.Event()

    def stop(self, *, force: bool = False) -> None:
        self.should_exit, self.force_exit = True, force
        self._told.set()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self._told.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        listeners: tuple[Any, ...] = (*self.servers, *(sockets or []))
        for listener in listeners:
            listener.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                while not self.force_exit and (self.server_state.connections or self.server_state.tasks):  # noqa: ASYNC110
                    await asyncio.sleep(MOMENT)
        except TimeoutError:
            for task in self.server_state.tasks:
                task.cancel()
        if not self.force_exit:
            await self.lifespan.shutdown()


@asynccontextmanager
async def serving(app: App) -> AsyncIterator[str]:
    """Serve `app` while the block runs; gives the address of its `/mcp`."""
    listener = bind("127.0.0.1", 0)
    server = PromptServer(make_server(app, drain=1, lifespan="auto").config)
    task = asyncio.ensure_future(server._serve(sockets=[listener]))
    while not server.started:  # noqa: ASYNC110 (uvicorn has no event for it)
        await asyncio.sleep(0)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    finally:
        server.stop()
        await task
