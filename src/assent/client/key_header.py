"""Sends idempotency keys as HTTP headers, because the SDK's client has no header option per call.

The header is copied from `_meta` of the outgoing request, so both always agree.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx2
import orjson
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from assent.client.challenges import hook_into, watch_http
from assent.client.connection import ConnectedClient
from assent.mcp.call_meta import HEADER, META_KEY

_NEEDLE = META_KEY.encode()
RequestHook = Callable[[httpx2.Request], Awaitable[None]]
_TIMEOUT = httpx2.Timeout(30.0, read=300.0)


async def mirror_key(request: httpx2.Request) -> None:
    """Request hook for `httpx2.AsyncClient`: copy the key of a tool call to its `Idempotency-Key` header."""
    if request.method != "POST" or _NEEDLE not in request.content:
        return
    key = _key_in(request.content)
    if key is not None:
        request.headers[HEADER] = '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


def govern_http(http: httpx2.AsyncClient) -> httpx2.AsyncClient:
    """Make the HTTP client send keys as headers and report challenges, and return it."""
    http.event_hooks["request"].append(mirror_key)
    return hook_into(http)


@asynccontextmanager
async def keyed_http(url: str, authorize: RequestHook | None = None) -> AsyncIterator[Any]:
    """Open the SDK's transport to this URL, with keys in headers; `authorize` adds the credentials of a login."""
    async with govern_http(httpx2.AsyncClient(timeout=_TIMEOUT)) as http:
        if authorize is not None:
            http.event_hooks["request"].append(authorize)
        async with streamable_http_client(url, http_client=http) as streams:
            yield streams


def watched(client: AbstractAsyncContextManager[ConnectedClient]) -> AbstractAsyncContextManager[ConnectedClient]:
    """Return the caller's client with the hooks installed before it connects."""
    if type(client) is Client and isinstance(client.server, str):
        return replace(client, server=keyed_http(client.server))
    watch_http(client)
    return client


def _key_in(body: bytes) -> str | None:
    try:
        message = orjson.loads(body)
        key = message["params"]["_meta"][META_KEY] if message["method"] == "tools/call" else None
    except (ValueError, KeyError, TypeError):
        return None
    return key if isinstance(key, str) and key.isascii() and key.isprintable() else None
