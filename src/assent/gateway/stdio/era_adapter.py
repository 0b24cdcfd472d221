"""Answers a client of the modern era from a server of the handshake era."""

from __future__ import annotations

from typing import Any

from assent.mcp.channel import StreamListener
from assent.mcp.envelope import ENVELOPE_KEYS
from assent.mcp.jsonrpc import RpcError
from assent.mcp.protocol import METHOD_NOT_FOUND
from assent.mcp.requests import ParsedRequest
from assent.upstreams.stdio.server import StdioUpstream

_CACHED = frozenset({"resources/list", "resources/templates/list", "resources/read", "prompts/list"})
_ALIKE = _CACHED | {"prompts/get", "completion/complete"}


async def adapt(
    parsed_request: ParsedRequest, server: StdioUpstream, stream_listener: StreamListener
) -> dict[str, Any]:
    """The result of a modern request from a server that knows only the methods both eras have."""
    if parsed_request.method not in _ALIKE:
        raise RpcError(METHOD_NOT_FOUND, "Method not found", parsed_request.method)
    meta = {name: value for name, value in parsed_request.params.get("_meta", {}).items() if name not in ENVELOPE_KEYS}
    params = (
        {**parsed_request.params, "_meta": meta}
        if meta
        else {k: v for k, v in parsed_request.params.items() if k != "_meta"}
    )
    result = await server.exchange(parsed_request.method, params, stream_listener)
    modern: dict[str, Any] = {"resultType": "complete", **result}
    if parsed_request.method in _CACHED:
        modern = {"ttlMs": 0, "cacheScope": "private", **modern}
    return modern
