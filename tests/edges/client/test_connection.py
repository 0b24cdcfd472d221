"""A connection is made again when it breaks, whoever calls from wherever."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from assent import GovernedClient
from assent.edges.client.connection import Connection, Unreached

from .person import Naps
from .plain_server import Plain, said, tool


async def test_calls_from_many_tasks_share_one_new_connection() -> None:
    plain, opened = Plain(tool("list_orders")), []

    def connect(**callbacks: Any) -> Client:
        opened.append(1)
        return Client(plain.server, **callbacks)

    closed = MCPError(types.CONNECTION_CLOSED, "Connection closed")
    plain.does["list_orders"] = [closed] * 5 + [said({"n": 1})]
    async with GovernedClient(connect=connect, trusted=True, sleep=Naps()) as client:
        calls = [asyncio.create_task(client.call_tool("list_orders")) for _ in range(5)]
        results = [await call for call in calls]
    assert [result.is_error for result in results] == [False] * 5
    assert 1 < len(opened) <= 6


async def test_a_server_that_cannot_be_reached_is_said_to_be_so_and_nothing_was_sent() -> None:
    plain, down = Plain(tool("place_order", "idempotency_key")), False

    def connect(**callbacks: Any) -> Client:
        if down:
            raise ConnectionRefusedError("down")
        return Client(plain.server, **callbacks)

    naps = Naps()
    async with GovernedClient(connect=connect, asker=lambda _: True, sleep=naps) as client:
        await client.list_tools()
        down = True
        client._connection.broken(await client._connection.client())
        result = await client.call_tool("place_order")
    assert result.structured_content["code"] == "execute.unavailable"
    assert plain.log == []
    assert len(naps.taken) == 2


async def test_a_handshake_that_never_ends_is_given_up() -> None:
    class Never:
        async def __aenter__(self) -> Client:
            await asyncio.Event().wait()
            raise AssertionError

        async def __aexit__(self, *_: object) -> None: ...

    connection = Connection(Never, within=0.01)
    with pytest.raises(Unreached):
        await connection.client()
    await connection.close()


async def test_entering_a_client_whose_server_is_away_says_so() -> None:
    with pytest.raises(Unreached):
        async with GovernedClient("http://127.0.0.1:9/mcp", timeout=5):
            pass
