"""A key goes by header where the transport allows; where no place is possible, nothing is made again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

from assent import GovernedClient
from assent.client import mirror_key
from assent.mcp.requests import META_KEY, unquote
from support.clients.person import Naps
from support.clients.transports import over_http


class Charging:
    """A server that takes its key by header only, charges once per key, and breaks before its first answer."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.charges: dict[str, int] = {}
        self.server = MCPServer("till", log_level="CRITICAL")
        self.server.add_tool(self.charge, name="charge_card")

    async def charge(self, amount: int, ctx: Context) -> dict[str, int]:
        """Charges the card."""
        request = ctx.request_context.request
        assert request is not None
        key = unquote(request.headers.get("idempotency-key", ""))
        self.keys.append(key)
        number = self.charges.setdefault(key or f"none {len(self.keys)}", len(self.charges) + 1)
        return {"charge": number}

    @asynccontextmanager
    async def served(self, *, fails: int) -> AsyncIterator[str]:
        app, remaining = self.server.streamable_http_app(), [fails]

        async def breaking(scope: Any, receive: Any, send: Any) -> None:
            """The first answers of the tool are lost, and the caller is told of a server error."""
            headers = dict(scope.get("headers", []))
            if headers.get(b"mcp-method") != b"tools/call" or not remaining[0]:
                return await app(scope, receive, send)
            remaining[0] -= 1

            async def nowhere(message: Any) -> None: ...

            await app(scope, receive, nowhere)
            await send({"type": "http.response.start", "status": 503, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        self.server.streamable_http_app = lambda **_: breaking  # type: ignore[method-assign, assignment]
        async with over_http(self.server) as url:
            yield url


async def called(client: GovernedClient) -> Any:
    async with client:
        return (await client.call_tool("charge_card", {"amount": 5})).structured_content


async def test_a_server_known_to_take_its_key_by_header_is_retried_under_it() -> None:
    till = Charging()
    async with till.served(fails=1) as url:
        told = await called(GovernedClient(url, asker=lambda _: True, keys_by_header=True, sleep=Naps()))
    assert told == {"charge": 1}
    first, second = till.keys
    assert first == second != ""


async def test_a_client_of_the_callers_own_mirrors_the_key_with_a_hook() -> None:
    from mcp.client.streamable_http import streamable_http_client

    till = Charging()
    async with (
        till.served(fails=1) as url,
        httpx2.AsyncClient(event_hooks={"request": [mirror_key]}, timeout=60) as http,
    ):

        def connect(**callbacks: Any) -> Client:
            return Client(streamable_http_client(url, http_client=http), **callbacks)

        client = GovernedClient(connect=connect, asker=lambda _: True, keys_by_header=True, sleep=Naps())
        assert await called(client) == {"charge": 1}
    assert len(set(till.keys)) == 1


async def test_where_no_place_for_a_key_is_known_the_charge_is_not_made_again() -> None:
    till = Charging()
    async with till.served(fails=1) as url:
        told = await called(GovernedClient(url, asker=lambda _: True, sleep=Naps()))
    assert told["code"] == "execute.in_doubt"
    assert till.keys == [""]


def test_a_header_needs_http() -> None:
    with pytest.raises(ValueError, match="keys_by_header needs HTTP"):
        GovernedClient(StdioServerParameters(command="x"), keys_by_header=True)


@pytest.mark.parametrize(
    ("method", "key", "header"),
    [
        ("tools/call", "k-1", '"k-1"'),
        ("tools/call", 'a"b\\c', '"a\\"b\\\\c"'),
        ("tools/list", "k-1", None),
        ("tools/call", "k\r\nx: y", None),
        ("tools/call", 5, None),
    ],
)
async def test_the_header_says_what_meta_says_or_nothing(method: str, key: Any, header: str | None) -> None:
    body = {"method": method, "params": {"_meta": {META_KEY: key}}}
    request = httpx2.Request("POST", "http://127.0.0.1/mcp", json=body)
    await mirror_key(request)
    assert request.headers.get("idempotency-key") == header
    if header is not None:
        assert unquote(header) == key


async def test_what_is_no_message_is_left_alone() -> None:
    request = httpx2.Request("POST", "http://127.0.0.1/mcp", content=META_KEY.encode())
    await mirror_key(request)
    assert "idempotency-key" not in request.headers
