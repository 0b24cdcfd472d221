"""The servers that are measured, each in a process of its own: `python -m bench.servers NAME [URL]`."""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import orjson
import uvicorn
from mcp_types.version import LATEST_MODERN_VERSION

from assent.contract.reader import read_contract
from assent.core.catalogue import catalogue_of
from assent.core.principal import Principal
from assent.core.tool import compile_tool
from assent.gateway.auth.api_keys import ConfiguredApiKeys, record_key
from assent.gateway.auth.credentials import CredentialChecker
from assent.gateway.auth.host_origin import HostOriginPolicy
from assent.gateway.endpoint import McpEndpoint
from assent.gateway.passthrough.non_tool import SingleUpstreamRelay
from assent.gateway.passthrough.relay import Relay
from assent.gateway.sessions.table import SessionTable
from assent.gateway.tool_service import ToolService
from assent.guards import build_guard
from assent.mcp.request_state import RequestStateCodec
from assent.mcp.requests import McpRequest
from assent.pipeline.effects import EffectRunner
from assent.ports import Ports
from assent.stores import MemoryStore
from assent.stores.ids import new_id
from assent.stores.sqlite import SqliteStore
from assent.testing import as_given
from assent.upstreams.http.address import UpstreamAddress
from assent.upstreams.http.circuit_breaker import CircuitBreaker
from assent.upstreams.http.link import HttpLink
from assent.upstreams.http.pool import Limits, Pool
from assent.upstreams.http.server import Described, HttpUpstream
from assent.upstreams.http.transport import SessionContext
from assent.web.asgi import App, Receive, Scope, Send
from assent.web.http import respond, respond_error
from assent.web.server import bind, make_server, tune_gc

KEY = "assent_bench0000_a-key-of-the-bench-that-opens-nothing-else"
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
GUARDS = (
    build_guard({"rule": "allow_domains", "domains": ["example.com"]}),
    build_guard({"rule": "bounds", "fields": ["a"], "most": 50}),
    build_guard({"rule": "block_keywords", "keywords": ["password"]}),
)

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
    target, circuit_breaker = UpstreamAddress.of(url), CircuitBreaker("echo", time.monotonic)
    return Pool("echo", target, Limits(), circuit_breaker), Pool("echo", target, Limits(), circuit_breaker)


def relay(url: str) -> App:
    return Relay(*_pools(url))


def gateway(url: str) -> App:
    """Everything of the call path but the governed sentence."""
    calls, streams = _pools(url)
    upstream = HttpUpstream(calls, {"name": "assent", "version": "0"})

    async def anybody(_headers: Any, _scope: Any) -> str:
        return "anybody"

    async def call(mcp_request: McpRequest) -> bytes:
        parsed_request = mcp_request.parsed_request
        peer = SessionContext(parsed_request.version, None, parsed_request.capabilities)
        result = await upstream.request("tools/call", parsed_request.params, peer, stream_listener=mcp_request.reply)
        return orjson.dumps(result)

    async def listing(_mcp_request: McpRequest) -> bytes:
        return LISTED

    async def other(_scope: Scope, _receive: Receive, send: Send) -> None:
        await respond_error(send, 404, "Not Found")

    sessions = SessionTable(time.monotonic, lambda: "unused")
    return McpEndpoint(
        anybody,
        listing,
        call,
        SingleUpstreamRelay(Relay(calls, streams), sessions),
        sessions,
        other,
        HostOriginPolicy(),
    )


def governed(url: str) -> App:
    """The whole path: a key, scopes, schema in and out, three guards, durable intent and outcome in SQLite."""
    folder = Path(tempfile.mkdtemp(prefix="assent-bench-"))
    store = MemoryStore() if os.environ.get("BENCH_MEMORY") else SqliteStore(folder / "bench.db")
    calls, streams = _pools(url)
    link = HttpLink("echo", HttpUpstream(calls, {"name": "assent", "version": "0"}), relayed=True)
    link._live.described = Described(LATEST_MODERN_VERSION, {}, {}, None)
    caller = Principal("bench", "agent", scopes=frozenset({"orders:*"}))
    credential_checker = CredentialChecker(keys=ConfiguredApiKeys([record_key(KEY, caller)]))
    echoing = read_contract("echo", {"side_effect": "compute", "permissions": ["orders:write"], "input": ECHO_INPUT})
    listed = [compile_tool(read_contract(t["name"], {"side_effect": "read"}), definition=t) for t in TOOLS]
    catalogue = catalogue_of(
        [compile_tool(echoing, upstream="echo", definition={"outputSchema": ECHO_OUTPUT}), *listed]
    )
    ports = Ports(
        catalogue=lambda: catalogue,
        store=store,
        upstream=None,  # type: ignore[arg-type]
        authenticate=as_given,
        now=time.time,
        new_id=new_id,
        work=EffectRunner(store, time.time),
        derive_key=lambda claim: claim,
        guards=GUARDS,
    )
    serving = ToolService(
        ports, {"echo": link}, RequestStateCodec(b"s" * 32, time.time), server_info={"name": "bench", "version": "0"}
    )

    async def other(_scope: Scope, _receive: Receive, send: Send) -> None:
        await respond_error(send, 404, "Not Found")

    sessions = SessionTable(time.monotonic, lambda: "unused")
    non_tool_handler = SingleUpstreamRelay(Relay(calls, streams), sessions)
    tune_gc()
    return McpEndpoint(
        credential_checker.admit, serving.listing, serving.call, non_tool_handler, sessions, other, HostOriginPolicy()
    )


def mcp_server() -> App:
    """An upstream that lists what it has, which a proxy that keeps its own catalogue needs."""
    from mcp.server import MCPServer

    server = MCPServer("echo", log_level="CRITICAL")

    @server.tool()
    def echo(a: int, b: str, c: float, d: list[int], e: dict[str, Any]) -> dict[str, Any]:
        return {"a": a, "b": b, "c": c, "d": d, "e": e}

    return cast("App", server.streamable_http_app(json_response=True, stateless_http=True))


def fastmcp_proxy(url: str) -> App:
    from fastmcp.server import create_proxy

    return create_proxy(url).http_app(stateless_http=True, json_response=True)


SERVERS: dict[str, Callable[..., App]] = {
    "echo": lambda: echo,
    "mcp": mcp_server,
    "relay": relay,
    "gateway": gateway,
    "governed": governed,
    "fastmcp": fastmcp_proxy,
}


def main(name: str, *arguments: str) -> None:
    listener = bind("127.0.0.1", 0)
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    app = SERVERS[name](*arguments)
    if name in ("relay", "gateway", "governed"):
        server = make_server(app, lifespan="off")
    else:
        config = uvicorn.Config(app, loop="uvloop", http="httptools", log_level="error", access_log=False)
        server = uvicorn.Server(config)
    with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
        runner.run(server.serve(sockets=[listener]))


if __name__ == "__main__":
    main(*sys.argv[1:])
