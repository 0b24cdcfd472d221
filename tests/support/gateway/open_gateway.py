"""The gateway with nothing governed: every call goes straight to one upstream, every list comes from it."""

import time
from itertools import count

import orjson

from assent.core.principal import Principal
from assent.gateway.auth.host_origin import HostOriginPolicy
from assent.gateway.dispatch import Dispatcher
from assent.gateway.endpoint import McpEndpoint
from assent.gateway.passthrough.non_tool import SingleUpstreamRelay
from assent.gateway.passthrough.relay import Relay
from assent.gateway.sessions.table import SessionTable
from assent.mcp.requests import Era, McpRequest
from assent.upstreams.http.address import UpstreamAddress
from assent.upstreams.http.circuit_breaker import CircuitBreaker
from assent.upstreams.http.client import HttpUpstream
from assent.upstreams.http.pool import Limits, Pool
from assent.upstreams.http.sessions import SessionContext
from assent.web.asgi import Headers, Receive, Scope, Send
from assent.web.http import respond_error


async def anybody(_headers: Headers, _scope: Scope) -> Principal:
    return Principal("anybody", "agent")


async def nowhere(scope: Scope, _receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await respond_error(send, 404, "Not Found")


class Straight:
    """Calls and lists, straight to the upstream."""

    def __init__(self, upstream: HttpUpstream) -> None:
        self._upstream = upstream

    async def listing(self, mcp_request: McpRequest) -> bytes:
        return await self._request(mcp_request, safe=True)

    async def call(self, mcp_request: McpRequest) -> bytes:
        return await self._request(mcp_request, safe=False)

    async def _request(self, mcp_request: McpRequest, *, safe: bool) -> bytes:
        session = mcp_request.session.id if mcp_request.session is not None else None
        peer = SessionContext(mcp_request.version, session, mcp_request.capabilities)

        result = await self._upstream.request(
            mcp_request.method,
            mcp_request.params,
            peer,
            fields=_mirrored(mcp_request),
            stream_listener=mcp_request.reply,
            safe=safe,
        )
        return orjson.dumps(result)


def _mirrored(mcp_request: McpRequest) -> Headers:
    if mcp_request.era is not Era.MODERN:
        return []
    return [(name, value) for name, value in mcp_request.headers if name.startswith(b"mcp-param-")]


def open_gateway(url: str, limits: Limits | None = None) -> McpEndpoint:
    target, circuit_breaker = UpstreamAddress.of(url), CircuitBreaker("reference", time.monotonic)
    limits = limits or Limits()
    calls = Pool("reference", target, limits, circuit_breaker)
    streams = Pool("reference", target, Limits(connections=1000), circuit_breaker)
    numbers = count(1)
    sessions = SessionTable(time.monotonic, lambda: f"session-{next(numbers)}")
    straight = Straight(HttpUpstream(calls, {"name": "assent", "version": "0"}))
    return McpEndpoint(
        authenticate=anybody,
        dispatcher=Dispatcher(straight.listing, straight.call),
        non_tool_handler=SingleUpstreamRelay(Relay(calls, streams), sessions),
        sessions=sessions,
        other=nowhere,
        host_policy=HostOriginPolicy(),
    )
