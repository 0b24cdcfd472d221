"""Idempotency keys: which key an action has, and where it goes.

Each action has one key, the same on every attempt. If an action ends without an answer, its key is kept, so that the
same call again is the same action. The model never writes a key.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx2
import orjson
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from assent.client.connection import ConnectedClient, hook_into, watch_http
from assent.client.tool_policy import ToolPolicy
from assent.contract.tiers import Tier
from assent.mcp.requests import HEADER, META_KEY

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


_ARGUMENTS = ("idempotency_key", "idempotencyKey", "idempotency-key", "Idempotency-Key")
_MOST_UNSETTLED = 10_000


def new_key() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """Where the key goes: into an argument, or into `_meta`, from which HTTP copies it to a header."""

    argument: str | None = None

    def put(self, key: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any] | None]:
        if self.argument is None:
            return arguments, {META_KEY: key}
        return {**arguments, self.argument: key}, None


def place_of(standing: ToolPolicy, schema: Any, *, by_header: bool = False) -> KeyPlace | None:
    """Return where this tool takes a key; None if it takes or needs none. `by_header` is set by the caller."""
    if standing.tier is Tier.READ:
        return None
    if standing.contract:
        return KeyPlace()
    argument = key_argument(schema)
    if argument:
        return KeyPlace(argument)
    return KeyPlace() if by_header else None


def key_argument(schema: Any, contract: Mapping[str, Any] | None = None) -> str | None:
    """Return the argument for a key: the one in the contract, or one with a usual name."""
    named = schema.get("properties") if isinstance(schema, Mapping) else None
    properties = named if isinstance(named, Mapping) else {}
    idempotency = (contract or {}).get("idempotency")
    said = idempotency.get("argument") if isinstance(idempotency, Mapping) else None
    return next((name for name in (said, *_ARGUMENTS) if isinstance(name, str) and name in properties), None)


class IdempotencyKeys:
    """Keys of actions whose end is unknown."""

    def __init__(self, make: Callable[[], str] = new_key) -> None:
        self._make = make
        self._unsettled: dict[str, list[str]] = {}

    def take(self, action: str) -> str:
        """Return the oldest kept key of this action, or a new one. Two calls at the same time are two actions."""
        kept = self._unsettled.pop(action, None)
        if kept is None:
            return self._make()
        if kept[1:]:
            self._unsettled[action] = kept[1:]
        return kept[0]

    def keep(self, action: str, key: str) -> None:
        if action not in self._unsettled and len(self._unsettled) >= _MOST_UNSETTLED:
            self._unsettled.pop(next(iter(self._unsettled)))
        self._unsettled.setdefault(action, []).append(key)
