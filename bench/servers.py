"""The servers beside the gateway, each in a process of its own: `python -m bench.servers NAME [URL]`."""

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import orjson
import uvicorn

from assent.mcp.protocol import LATEST_MODERN_VERSION, METHOD_NOT_FOUND
from assent.web.asgi import App, Receive, Scope, Send
from assent.web.http import respond
from assent.web.server import bind, run_loop

ECHO_INPUT = {
    "type": "object",
    "properties": {
        "a": {"type": "integer"},
        "b": {"type": "string"},
        "c": {"type": "number"},
        "d": {"type": "array", "items": {"type": "integer"}},
        "e": {"type": "object"},
    },
    "required": ["a"],
    "additionalProperties": False,
}
ECHO_OUTPUT = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
READS = [f"tool_{number}" for number in range(91)]
SAVES = [f"save_{number}" for number in range(8)]
"""Tools that take and give what `echo` does."""
TOOLS: list[dict[str, Any]] = [
    {
        "name": name,
        "description": "Does one thing of a hundred, and says so in a sentence of usual length.",
        "inputSchema": {
            "type": "object",
            "properties": {name: {"type": "string", "description": f"The {name}."} for name in "abcde"},
            "required": ["a"],
        },
        "annotations": {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False},
    }
    for name in READS
]
_ECHO_TOOLS = [
    {"name": name, "description": "Echoes.", "inputSchema": ECHO_INPUT, "outputSchema": ECHO_OUTPUT}
    for name in ("echo", *SAVES)
]
_DESCRIPTION = {
    "supportedVersions": [LATEST_MODERN_VERSION],
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "echo", "version": "1"},
}
_RESULTS: dict[str, dict[str, Any]] = {"server/discover": _DESCRIPTION, "tools/list": {"tools": [*TOOLS, *_ECHO_TOOLS]}}


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """The reference: the least that a Python server must do to answer a call. The gateway's upstream is the same."""
    if scope["type"] != "http":
        return
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    request = orjson.loads(body)
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] == "tools/call":
        arguments = request["params"]["arguments"]
        reply["result"] = {"resultType": "complete", "content": [], "structuredContent": arguments, "isError": False}
    elif request["method"] in _RESULTS:
        reply["result"] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} | _RESULTS[request["method"]]
    else:
        reply["error"] = {"code": METHOD_NOT_FOUND, "message": "Method not found"}
    await respond(send, 200 if "result" in reply else 404, orjson.dumps(reply))


def mcp_server() -> App:
    """An upstream for a proxy that speaks with the SDK's client."""
    from mcp.server import MCPServer
    from mcp.server.transport_security import TransportSecuritySettings

    server = MCPServer("echo", log_level="CRITICAL")

    @server.tool()
    def echo(a: int, b: str, c: float, d: list[int], e: dict[str, Any]) -> dict[str, Any]:
        return {"a": a, "b": b, "c": c, "d": d, "e": e}

    anywhere = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(json_response=True, stateless_http=True, transport_security=anywhere)
    return cast("App", app)


def fastmcp_proxy(url: str) -> App:
    from fastmcp.server import create_proxy

    return create_proxy(url).http_app(stateless_http=True, json_response=True)


def fastmcp_proxy_of_one_session(url: str) -> App:
    """The same with one client for all callers; its makers warn that contexts can mix."""
    from fastmcp import Client
    from fastmcp.server.providers.proxy import FastMCPProxy

    client = Client(url)

    @asynccontextmanager
    async def connected(_: object) -> AsyncIterator[None]:
        async with client:
            yield

    proxy = FastMCPProxy(client_factory=lambda: client, lifespan=connected)
    return proxy.http_app(stateless_http=True, json_response=True)


def many_servers(tools: str) -> App:
    """Any number of servers, one for each path, with so many tools each; `/huge/...` has five hundred times as many."""
    count = int(tools)

    def listed(start: int, stop: int) -> list[dict[str, Any]]:
        return [{**TOOLS[number % len(TOOLS)], "name": f"tool_{number}"} for number in range(start, stop)]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        body = b""
        while (message := await receive()).get("more_body"):
            body += message["body"]
        request = orjson.loads(body + message["body"])
        result: dict[str, Any] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        if request["method"] == "tools/list" and scope["path"].startswith("/huge/"):
            start = int(request["params"].get("cursor", 0))
            more = {"nextCursor": str(start + 1000)} if start + 1000 < count * 500 else {}
            result |= {"tools": listed(start, start + 1000), **more}
        elif request["method"] == "tools/list":
            result |= {"tools": listed(0, count)}
        elif request["method"] == "server/discover":
            result |= _DESCRIPTION
        else:
            error = {"code": METHOD_NOT_FOUND, "message": "Method not found"}
            return await respond(send, 404, orjson.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}))
        await respond(send, 200, orjson.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}))

    return app


SERVERS: dict[str, Callable[..., App]] = {
    "echo": lambda: echo,
    "mcp": mcp_server,
    "fastmcp": fastmcp_proxy,
    "fastmcp-session": fastmcp_proxy_of_one_session,
    "many": many_servers,
}


def main(name: str, *arguments: str) -> None:
    listener = bind("127.0.0.1", 0)
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    # uvicorn as it comes: the gateway's own server writes a response at once, which the reference must not have.
    config = uvicorn.Config(SERVERS[name](*arguments), http="httptools", log_level="error", access_log=False)
    run_loop(uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    main(*sys.argv[1:])
