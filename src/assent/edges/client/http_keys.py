"""How does a key travel by HTTP header, where the SDK's client has no headers per call?

The header says again what `_meta` says: it is read off the request that goes out, so that the two always agree.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import orjson
from mcp.client.streamable_http import streamable_http_client

from assent.edges.idempotency_key import HEADER, META_KEY

_NEEDLE = META_KEY.encode()
_TIMEOUT = httpx2.Timeout(30.0, read=300.0)


async def mirror_key(request: httpx2.Request) -> None:
    """A request hook for `httpx2.AsyncClient`: the key of a tool call becomes its `Idempotency-Key` header."""
    if request.method != "POST" or _NEEDLE not in request.content:
        return
    key = _key_in(request.content)
    if key is not None:
        request.headers[HEADER] = '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


@asynccontextmanager
async def keyed_http(url: str) -> AsyncIterator[Any]:
    """The SDK's transport to this address, with keys in headers too."""
    async with httpx2.AsyncClient(timeout=_TIMEOUT, event_hooks={"request": [mirror_key]}) as http:
        async with streamable_http_client(url, http_client=http) as streams:
            yield streams


def _key_in(body: bytes) -> str | None:
    try:
        message = orjson.loads(body)
        key = message["params"]["_meta"][META_KEY] if message["method"] == "tools/call" else None
    except (ValueError, KeyError, TypeError):
        return None
    return key if isinstance(key, str) and key.isascii() and key.isprintable() else None
