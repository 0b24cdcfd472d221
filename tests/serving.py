"""An application on a socket of 127.0.0.1, in the test's own loop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from assent.edges.http import App
from assent.edges.server import bind, make_server


@asynccontextmanager
async def serving(app: App) -> AsyncIterator[str]:
    """Serve `app` while the block runs; gives the address of its `/mcp`."""
    listener = bind("127.0.0.1", 0)
    server = make_server(app, drain=1, lifespan="auto")
    task = asyncio.ensure_future(server._serve(sockets=[listener]))
    while not server.started:  # noqa: ASYNC110 (uvicorn has no event for it)
        await asyncio.sleep(0)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        await task
