"""A connection is made again when it breaks, whoever calls from wherever."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from assent import GovernedClient
from assent.client.connection import LoginHook, ServerConnection, Unreached
from assent.client.options import Journal
from support.clients.person import Naps
from support.servers.plain_server import Plain, said, tool


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

    connection = ServerConnection(Never, 0.01, LoginHook(None, Journal(time.time), 1, bool))
    with pytest.raises(Unreached):
        await connection.client()
    await connection.close()


async def test_entering_a_client_whose_server_is_away_says_so() -> None:
    with pytest.raises(Unreached):
        async with GovernedClient("http://127.0.0.1:9/mcp", timeout=5):
            pass


async def test_a_list_is_fetched_over_a_new_connection_where_the_old_one_broke() -> None:
    plain, opened = Plain(tool("list_orders")), 0
    lists = plain._list
    broken = [True]

    async def list_once_broken(context: Any, params: Any) -> types.ListToolsResult:
        if broken:
            broken.clear()
            raise MCPError(types.CONNECTION_CLOSED, "Connection closed")
        return await lists(context, params)

    plain.server = Server("plain", on_list_tools=list_once_broken, on_call_tool=plain._call)

    def connect(**callbacks: Any) -> Client:
        nonlocal opened
        opened += 1
        return Client(plain.server, **callbacks)

    async with GovernedClient(connect=connect) as client:
        assert [listed.name for listed in await client.list_tools()] == ["list_orders"]
    assert opened == 2


async def test_a_server_that_never_lists_is_left() -> None:
    async def never(context: Any, params: Any) -> Any:
        await asyncio.Event().wait()

    server: Any = Server("plain", on_list_tools=never)
    async with GovernedClient(server, timeout=0.05, attempts=1) as client:
        result = await client.call_tool("list_orders")
    assert result.structured_content["code"] == "execute.unavailable"


async def test_whoever_stops_waiting_for_a_charge_is_asked_before_it_is_made_again() -> None:
    plain, started = Plain(tool("place_order", "idempotency_key")), asyncio.Event()

    async def slow(context: Any, params: Any) -> Any:
        started.set()
        await asyncio.Event().wait()

    plain.does["place_order"] = [slow, said({"order": 1})]
    asked: list[Any] = []
    async with GovernedClient(plain.server, asker=lambda question: asked.append(question) or True) as client:
        waiting = asyncio.create_task(client.call_tool("place_order"))
        await started.wait()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert not (await client.call_tool("place_order")).is_error
    first, second = (arguments["idempotency_key"] for _, arguments in plain.log)
    assert first == second
    assert "its end is unknown" in asked[1].why


async def test_a_server_that_was_never_there_is_told_of_by_its_cause_and_not_by_the_group_it_came_in() -> None:
    with pytest.raises(Unreached, match=r"the server could not be reached: .*connection attempts failed"):
        async with GovernedClient("http://127.0.0.1:9/mcp"):
            raise AssertionError


class ReadsByItself:
    """A client whose connection reads in a task of its own, as over stdio; a call may have the server ask first."""

    server_info = None

    def __init__(self, elicitation_callback: Any, message_handler: Any) -> None:
        self._ask = elicitation_callback
        self._calls: asyncio.Queue[tuple[str, asyncio.Future[Any]]] = asyncio.Queue()

    async def __aenter__(self) -> ReadsByItself:
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._reader.cancel()

    async def list_tools(self, **_: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool("delete_draft"), tool("delete_all")])

    async def call_tool(self, name: str, arguments: Any = None, *, meta: Any = None) -> types.CallToolResult:
        answer: asyncio.Future[types.CallToolResult] = asyncio.get_running_loop().create_future()
        self._calls.put_nowait((name, answer))
        return await answer

    async def _read(self) -> None:
        while True:
            name, answer = await self._calls.get()
            if name == "delete_all":
                form = types.ElicitRequestFormParams(message="All?", requested_schema={"type": "object"})
                await self._ask(None, form)
            answer.set_result(said({}))


async def test_a_question_belongs_to_its_own_call_not_to_the_one_that_connected_anew() -> None:
    asked: list[tuple[str, str | None]] = []

    def person(question: Any) -> bool:
        asked.append((question.tool, question.words))
        return True

    async with GovernedClient(connect=ReadsByItself, asker=person) as client:
        await client.list_tools()
        client._connection.broken(await client._connection.client())
        await client.call_tool("delete_draft")
        await client.call_tool("delete_all")
    assert asked == [("delete_draft", None), ("delete_all", None), ("delete_all", "All?")]
