"""The servers that are measured, each in a process of its own: `python -m bench.servers NAME [URL]`."""

import asyncio
import sys
import time
from collections.abc import Callable
from typing import Any

import orjson
import uvicorn

from assent.edges.doors import Doors
from assent.edges.gateway import Gateway, Incoming
from assent.edges.http import App, Receive, Scope, Send, respond, respond_error
from assent.edges.passages import RelayPassage
from assent.edges.relay import Relay
from assent.edges.server import bind, make_server
from assent.edges.sessions import SessionTable
from assent.edges.upstreams.breaker import Breaker
from assent.edges.upstreams.http import HttpUpstream
from assent.edges.upstreams.line import Peer
from assent.edges.upstreams.pool import Limits, Pool
from assent.edges.upstreams.target import Target

TOOLS = [
    {
        "name": f"tool_{number}",
        "description": "Does one thing of a hundred, and says so in a sentence of usual length.",
        "inputSchema": {
            "type": "object",
            "properties": {name: {"type": "string", "description": f"The {name}."} for name in "abcde"},
            "required": ["a"],
        },
        "annotations": {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False},
    }
    for number in range(100)
]
LISTED = orjson.dumps({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": TOOLS})


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """The reference: what a Python server must do at least to answer a call."""
    if scope["type"] != "http":
        return
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    request = orjson.loads(body)
    arguments = request["params"]["arguments"]
    result = {"resultType": "complete", "content": [], "structuredContent": arguments, "isError": False}
    await respond(send, 200, orjson.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}))


def _pools(url: str) -> tuple[Pool, Pool]:
    target, breaker = Target.of(url), Breaker("echo", time.monotonic)
    return Pool("echo", target, Limits(), breaker), Pool("echo", target, Limits(), breaker)


def relay(url: str) -> App:
    return Relay(*_pools(url))


def gateway(url: str) -> App:
    """Everything of the call path but the governed sentence."""
    calls, streams = _pools(url)
    upstream = HttpUpstream(calls, {"name": "assent", "version": "0"})

    async def anybody(_headers: Any, _scope: Any) -> str:
        return "anybody"

    async def call(incoming: Incoming) -> bytes:
        inbound = incoming.inbound
        peer = Peer(inbound.version, None, inbound.capabilities)
        result = await upstream.request("tools/call", inbound.params, peer, audience=incoming.reply)
        return orjson.dumps(result)

    async def listing(_incoming: Incoming) -> bytes:
        return LISTED

    async def other(_scope: Scope, _receive: Receive, send: Send) -> None:
        await respond_error(send, 404, "Not Found")

    sessions = SessionTable(time.monotonic, lambda: "unused")
    return Gateway(anybody, listing, call, RelayPassage(Relay(calls, streams), sessions), sessions, other, Doors())


def fastmcp_proxy(url: str) -> App:
    from fastmcp.server import create_proxy

    return create_proxy(url).http_app(stateless_http=True, json_response=True)


SERVERS: dict[str, Callable[..., App]] = {
    "echo": lambda: echo,
    "relay": relay,
    "gateway": gateway,
    "fastmcp": fastmcp_proxy,
}


def main(name: str, *arguments: str) -> None:
    listener = bind("127.0.0.1", 0)
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    app = SERVERS[name](*arguments)
    if name in ("relay", "gateway"):
        server = make_server(app, lifespan="off")
    else:
        config = uvicorn.Config(app, loop="uvloop", http="httptools", log_level="error", access_log=False)
        server = uvicorn.Server(config)
    with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
        runner.run(server.serve(sockets=[listener]))


if __name__ == "__main__":
    main(*sys.argv[1:])
