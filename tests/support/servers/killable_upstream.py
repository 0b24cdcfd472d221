"""An upstream to be killed: `python -m support.servers.killable_upstream LOG [PORT]`; prints its port.

Every call of `list_things` and `place_thing` writes a line to LOG and then waits until `POST /go` was said.
`GET /entered?count=N` answers once so many calls wait.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from support.processes.servers import run_app

server = MCPServer("killable", log_level="ERROR")
entered, go_on, news = 0, asyncio.Event(), asyncio.Condition()


async def enter(line: str) -> None:
    global entered
    with Path(sys.argv[1]).open("a") as log:  # noqa: ASYNC230 (one short line)
        log.write(f"{line}\n")
    async with news:
        entered += 1
        news.notify_all()
    await go_on.wait()


@server.tool(description="Lists things.")
async def list_things(number: int) -> dict[str, int]:
    await enter(f"list {number}")
    return {"number": number}


@server.tool(description="Creates a thing.")
async def place_thing(number: int) -> dict[str, int]:
    await enter(f"place {number}")
    return {"number": number}


@server.custom_route("/entered", methods=["GET"])
async def wait_for_entered(request: Request) -> Response:
    async with news:
        await news.wait_for(lambda: entered >= int(request.query_params["count"]))
    return PlainTextResponse("")


@server.custom_route("/go", methods=["POST"])
async def let_go(request: Request) -> Response:
    go_on.set()
    return PlainTextResponse("")


def main() -> None:
    app: Any = server.streamable_http_app(stateless_http=True)
    run_app(app, int(sys.argv[2]) if len(sys.argv) > 2 else 0)


if __name__ == "__main__":
    main()
