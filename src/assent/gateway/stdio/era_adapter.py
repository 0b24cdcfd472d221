"""Answers a client of the modern era from a server of the handshake era."""

from __future__ import annotations

from typing import Any

import orjson
from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, METHOD_NOT_FOUND, PROTOCOL_VERSION_META_KEY

from assent.edges.inbound import Inbound
from assent.edges.rpc import RpcError
from assent.edges.upstreams.line import Audience
from assent.edges.upstreams.stdio import StdioUpstream

_ENVELOPE = frozenset({PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY})
_CACHED = frozenset({"resources/list", "resources/templates/list", "resources/read", "prompts/list"})
_ALIKE = _CACHED | {"prompts/get", "completion/complete"}


async def adapt(inbound: Inbound, server: StdioUpstream, audience: Audience) -> bytes:
    """The result of a modern request from a server that knows only the methods both eras have."""
    if inbound.method not in _ALIKE:
        raise RpcError(METHOD_NOT_FOUND, "Method not found", inbound.method)
    meta = {name: value for name, value in inbound.params.get("_meta", {}).items() if name not in _ENVELOPE}
    params = {**inbound.params, "_meta": meta} if meta else {k: v for k, v in inbound.params.items() if k != "_meta"}
    result = await server.exchange(inbound.method, params, audience)
    modern: dict[str, Any] = {"resultType": "complete", **result}
    if inbound.method in _CACHED:
        modern = {"ttlMs": 0, "cacheScope": "private", **modern}
    return orjson.dumps(modern)
