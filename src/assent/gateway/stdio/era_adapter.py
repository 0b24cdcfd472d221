"""Answers requests of a modern-era client from a handshake-era server."""

from __future__ import annotations

from typing import Any

import orjson
from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, METHOD_NOT_FOUND, PROTOCOL_VERSION_META_KEY

from assent.mcp.channel import StreamListener
from assent.mcp.jsonrpc import RpcError
from assent.mcp.requests import ParsedRequest
from assent.upstreams.stdio.server import StdioUpstream

_ENVELOPE = frozenset({PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY})
_CACHED = frozenset({"resources/list", "resources/templates/list", "resources/read", "prompts/list"})
_ALIKE = _CACHED | {"prompts/get", "completion/complete"}


async def adapt(parsed_request: ParsedRequest, server: StdioUpstream, stream_listener: StreamListener) -> bytes:
    """The result of a modern request, for the methods that exist in both eras."""
    if parsed_request.method not in _ALIKE:
        raise RpcError(METHOD_NOT_FOUND, "Method not found", parsed_request.method)
    meta = {name: value for name, value in parsed_request.params.get("_meta", {}).items() if name not in _ENVELOPE}
    params = (
        {**parsed_request.params, "_meta": meta}
        if meta
        else {k: v for k, v in parsed_request.params.items() if k != "_meta"}
    )
    result = await server.exchange(parsed_request.method, params, stream_listener)
    modern: dict[str, Any] = {"resultType": "complete", **result}
    if parsed_request.method in _CACHED:
        modern = {"ttlMs": 0, "cacheScope": "private", **modern}
    return orjson.dumps(modern)
