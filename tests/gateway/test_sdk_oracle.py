"""Whatever is sent to it, our endpoint answers with the status, code and words of the SDK's own server."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import orjson
import pytest
from mcp.server import MCPServer

from assent.gateway.auth.host_origin import HostOriginPolicy
from assent.gateway.dispatch import Dispatcher
from assent.gateway.endpoint import McpEndpoint
from assent.gateway.passthrough.non_tool import MergedSession
from assent.gateway.sessions.table import SessionTable
from assent.mcp.requests import McpRequest
from assent.mcp.server_identity import ServerIdentity
from assent.pipeline.tool_mentions import Mentions
from support.gateway.open_gateway import anybody, nowhere
from support.servers.loopback_server import serving

VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
}
HEADERS = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": VERSION,
    "mcp-method": "tools/call",
    "mcp-name": "echo",
}


def call(**changes: Any) -> dict[str, Any]:
    params = {"name": "echo", "arguments": {"text": "hi"}, "_meta": META, **changes}
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    return {key: value for key, value in message.items() if value is not None}


def meta(**changes: Any) -> dict[str, Any]:
    return {"_meta": {key: value for key, value in {**META, **changes}.items() if value is not ...}}


P, C, INFO = (f"io.modelcontextprotocol/{name}" for name in ("protocolVersion", "clientCapabilities", "clientInfo"))

BODIES: dict[str, Any] = {
    "a call": call(),
    "a call with an id that is a string": {**call(), "id": "seven"},
    "a batch": [call()],
    "a posted response": {"jsonrpc": "2.0", "id": 1, "result": {}},
    "an id that is null": {**call(), "id": None},
    "an id that is a fraction": {**call(), "id": 1.5},
    "an id that is true": {**call(), "id": True},
    "another jsonrpc": {**call(), "jsonrpc": "1.0"},
    "a method that is no string": {**call(), "method": 5},
    "params that are a list": {**call(), "params": [1]},
    "no params": {"jsonrpc": "2.0", "id": 7, "method": "tools/call"},
    "a text": "hello",
    "a notification": {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
    "a notification without method": {"jsonrpc": "2.0"},
    "no meta": call(_meta={}),
    "meta that is a list": call(_meta=[]),
    "no version": call(**meta(**{P: ...})),
    "no capabilities": call(**meta(**{C: ...})),
    "no client info": call(**meta(**{INFO: ...})),
    "another version in the body": call(**meta(**{P: "2025-11-25"})),
    "a version that is a number": call(**meta(**{P: 3})),
    "capabilities that are a list": call(**meta(**{C: []})),
    "capabilities of a wrong shape": call(**meta(**{C: {"elicitation": 5}})),
    "client info of a wrong shape": call(**meta(**{INFO: {"name": 5}})),
    "a progress token that is a list": call(**meta(progressToken=[])),
    "another name": call(name="other"),
    "a name that is a number": call(name=5),
    "arguments that are a list": call(arguments=[]),
    "arguments that are null": call(arguments=None),
    "input responses that are a list": call(inputResponses=[]),
    "another method": {**call(), "method": "tools/list"},
    "an unknown method": {**call(), "method": "no/such"},
    "a method of the other era": {**call(), "method": "ping"},
}
HEADER_CHANGES: dict[str, dict[str, str | None]] = {
    "as they should be": {},
    "no method": {"mcp-method": None},
    "another method": {"mcp-method": "tools/list"},
    "a method in capitals": {"mcp-method": "TOOLS/CALL"},
    "no name": {"mcp-name": None},
    "a name in base64": {"mcp-name": "=?base64?ZWNobw==?="},
    "a broken base64 name": {"mcp-name": "=?base64?ZWNobw?="},
    "an unknown version": {"mcp-protocol-version": "2099-01-01"},
    "no version": {"mcp-protocol-version": ""},
    "only JSON accepted": {"accept": "application/json"},
    "nothing accepted": {"accept": "text/html"},
    "anything accepted": {"accept": "*/*"},
    "no content type": {"content-type": None},
    "a form": {"content-type": "application/x-www-form-urlencoded"},
    "JSON with a charset": {"content-type": "application/json; charset=utf-8"},
}
RAW_BODIES: dict[str, bytes] = {
    "nothing": b"",
    "half an object": b'{"jsonrpc":',
    "invalid UTF-8": b'"\xff"',
    "too many brackets": b"[" * 100_000,
}


async def echo(mcp_request: McpRequest) -> bytes:
    return b'{"resultType":"complete","content":[]}'


async def no_tools(mcp_request: McpRequest) -> bytes:
    return b'{"resultType":"complete","tools":[]}'


@asynccontextmanager
async def both() -> AsyncIterator[tuple[str, str]]:
    """The SDK's server and ours, each on its socket."""
    theirs = MCPServer("oracle", version="1", log_level="CRITICAL")

    @theirs.tool(name="echo", description="echo")
    def _(text: str = "") -> str:
        return text

    sessions = SessionTable(lambda: 0.0, iter(map(str, range(10**6))).__next__)
    identity = ServerIdentity({"name": "oracle", "version": "1"}, {"tools": {}})
    served, others = Dispatcher(no_tools, echo), MergedSession(lambda: identity, sessions, lambda _: Mentions(()))
    ours = McpEndpoint(anybody, served, others, sessions, nowhere, HostOriginPolicy())
    async with serving(theirs.streamable_http_app()) as their_url, serving(ours) as our_url:
        yield their_url, our_url


def verdict(response: httpx2.Response) -> Any:
    """The status, and of the body what must agree: who is answered, with which code and words."""
    kind = response.headers.get("content-type", "")
    if not kind.startswith("application/json"):
        return response.status_code
    body = response.json()
    if "error" not in body:
        return response.status_code, body.get("id")
    return response.status_code, body.get("id"), body["error"]["code"], body["error"]["message"]


def same(theirs: httpx2.Response, ours: httpx2.Response) -> bool:
    expected, seen = verdict(theirs), verdict(ours)
    if isinstance(expected, int):  # a bare status or a line of text: we answer with JSON, always
        return expected == ours.status_code
    if expected[2:3] == (-32700,):  # we say more about what is wrong
        return bool(seen[:3] == expected[:3])
    return bool(expected == seen)


@pytest.mark.parametrize("change", HEADER_CHANGES)
async def test_modern_requests_with_these_headers_are_answered_alike(change: str) -> None:
    headers = {key: value for key, value in {**HEADERS, **HEADER_CHANGES[change]}.items() if value is not None}
    async with both() as (their_url, our_url), httpx2.AsyncClient(timeout=60) as client:
        different = {}
        for title, body in {**{k: orjson.dumps(v) for k, v in BODIES.items()}, **RAW_BODIES}.items():
            theirs = await client.post(their_url, content=body, headers=headers)
            ours = await client.post(our_url, content=body, headers=headers)
            if not same(theirs, ours):
                different[title] = (verdict(theirs), verdict(ours))
        assert different == {}


@pytest.mark.parametrize("name", ["mcp-method", "mcp-name", "mcp-protocol-version"])
async def test_a_routing_header_sent_twice_is_refused_alike(name: str) -> None:
    headers = [*HEADERS.items(), (name, HEADERS[name])]
    async with both() as (their_url, our_url), httpx2.AsyncClient(timeout=60) as client:
        theirs = await client.post(their_url, content=json.dumps(call()), headers=headers)
        ours = await client.post(our_url, content=json.dumps(call()), headers=headers)
        assert theirs.status_code == 400
        assert verdict(theirs) == verdict(ours)


@pytest.mark.parametrize(
    ("method", "session"),
    [*((m, None) for m in ("GET", "DELETE", "PUT", "OPTIONS", "HEAD")), ("GET", "none"), ("DELETE", "none")],
)
@pytest.mark.parametrize("version", [None, "2025-11-25", VERSION])
async def test_other_http_methods_are_answered_alike(method: str, version: str | None, session: str | None) -> None:
    headers = {"accept": "application/json, text/event-stream"}
    if version is not None:
        headers["mcp-protocol-version"] = version
    if session is not None:
        headers["mcp-session-id"] = session
    async with both() as (their_url, our_url), httpx2.AsyncClient(timeout=60) as client:
        theirs = await client.request(method, their_url, headers=headers)
        ours = await client.request(method, our_url, headers=headers)
        assert (ours.status_code, ours.headers.get("allow")) == (
            theirs.status_code,
            theirs.headers.get("allow"),
        )


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
HANDSHAKE_BODIES: dict[str, Any] = {
    "a batch": [INITIALIZE],
    "a text": "hello",
    "a method without a session": {"jsonrpc": "2.0", "id": 3, "method": "resources/list"},
    "a notification without a session": {"jsonrpc": "2.0", "method": "notifications/initialized"},
    "an envelope of the wrong kind": {"jsonrpc": "1.0", "id": 3, "method": "tools/list"},
    "an id that is null": {"jsonrpc": "2.0", "id": None, "method": "resources/list"},
}


@pytest.mark.parametrize("title", HANDSHAKE_BODIES)
async def test_broken_handshake_requests_have_the_same_status_and_code(title: str) -> None:
    headers = {name: HEADERS[name] for name in ("content-type", "accept")}
    async with both() as (their_url, our_url), httpx2.AsyncClient(timeout=60) as client:
        theirs = await client.post(their_url, json=HANDSHAKE_BODIES[title], headers=headers)
        ours = await client.post(our_url, json=HANDSHAKE_BODIES[title], headers=headers)
        # The SDK prints its validator's whole report as the message.
        assert verdict(ours)[:3] == verdict(theirs)[:3]
