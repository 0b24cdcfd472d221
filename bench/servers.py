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

from assent.contract.reading import read_contract
from assent.core.catalogue import catalogue_of
from assent.core.ids import new_id
from assent.core.principal import Principal
from assent.core.tool import compile_tool
from assent.edges.admission import Admission
from assent.edges.api_keys import ApiKeys, record_key
from assent.edges.doors import Doors
from assent.edges.gateway import Gateway, Incoming
from assent.edges.governed import Governed
from assent.edges.http import App, Receive, Scope, Send, respond, respond_error
from assent.edges.http_links import HttpLink
from assent.edges.passages import RelayPassage
from assent.edges.relay import Relay
from assent.edges.sealing import Seal
from assent.edges.server import bind, make_server, spare_collector
from assent.edges.sessions import SessionTable
from assent.edges.upstreams.breaker import Breaker
from assent.edges.upstreams.http import Described, HttpUpstream
from assent.edges.upstreams.line import Peer
from assent.edges.upstreams.pool import Limits, Pool
from assent.edges.upstreams.target import Target
from assent.guards import build_guard
from assent.pipeline.work import Work
from assent.ports import Ports
from assent.stores import MemoryStore
from assent.stores.sqlite import SqliteStore
from assent.testing import as_given

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


def governed(url: str) -> App:
    """The whole path: a key, scopes, schema in and out, three guards, durable intent and outcome in SQLite."""
    folder = Path(tempfile.mkdtemp(prefix="assent-bench-"))
    store = MemoryStore() if os.environ.get("BENCH_MEMORY") else SqliteStore(folder / "bench.db")
    calls, streams = _pools(url)
    link = HttpLink("echo", HttpUpstream(calls, {"name": "assent", "version": "0"}), relayed=True)
    link._live.described = Described(LATEST_MODERN_VERSION, {}, {}, None)
    caller = Principal("bench", "agent", scopes=frozenset({"orders:*"}))
    admission = Admission(keys=ApiKeys([record_key(KEY, caller)]))
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
        work=Work(store, time.time),
        derive_key=lambda claim: claim,
        guards=GUARDS,
    )
    serving = Governed(ports, {"echo": link}, Seal(b"s" * 32, time.time), server_info={"name": "bench", "version": "0"})

    async def other(_scope: Scope, _receive: Receive, send: Send) -> None:
        await respond_error(send, 404, "Not Found")

    sessions = SessionTable(time.monotonic, lambda: "unused")
    passage = RelayPassage(Relay(calls, streams), sessions)
    spare_collector()
    return Gateway(admission.admit, serving.listing, serving.call, passage, sessions, other, Doors())


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
