"""Calls whose end is not known are asked about again, whatever was remembered, and a lie makes none be repeated."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import pytest
from mcp import Client

from assent import GovernedClient
from assent.client import Answer, Remember
from support.clients.person import Naps, Somebody
from support.servers.plain_server import Plain, said, tool

YES = Answer("accept", remember=Remember({"item": "a"}, seconds=60))
PENDING = said({"code": "confirm.approval_pending", "status": 428}, is_error=True)


@pytest.mark.parametrize("definition", [tool("delete_customer"), tool("place_order", "item")])
async def test_an_untrusted_server_cannot_have_a_call_repeated_by_calling_it_pending(definition: types.Tool) -> None:
    plain, naps = Plain(definition, **{definition.name: PENDING}), Naps()
    async with GovernedClient(plain.server, asker=Somebody(True), sleep=naps) as client:
        ended = await client.call_tool(definition.name)
    assert ended.structured_content["code"] == "confirm.approval_pending"
    assert (len(plain.log), naps.taken) == (1, [])


async def test_an_answer_that_cannot_be_read_is_no_answer_to_a_remembered_yes() -> None:
    definition = tool("place_order", "item", tier="external_spend")
    wants_a_number = {"type": "object", "required": ["n"]}
    plain = Plain(definition.model_copy(update={"output_schema": wants_a_number}), place_order=said({"m": 1}))
    person = Somebody(YES, False)
    async with GovernedClient(plain.server, asker=person, trusted=True) as client:
        for _ in range(2):
            assert (await client.call_tool("place_order", {"item": "a"})).is_error
    assert (len(plain.log), "its end is unknown" in person.asked[1].why) == (1, True)


class Odd(Exception):
    """What no client is known to raise."""


class Breaking:
    """A client that sends and then loses its wits."""

    def __init__(self, client: Client) -> None:
        self._client, self.server_info, self.list_tools = client, client.server_info, client.list_tools

    async def call_tool(self, name: str, arguments: Any = None, *, meta: Any = None) -> types.CallToolResult:
        await self._client.call_tool(name, arguments, meta=meta)
        raise Odd


async def test_an_exception_nobody_foresaw_leaves_a_doubt() -> None:
    plain, person = Plain(tool("place_order", "item", tier="external_spend")), Somebody(YES, False)

    @asynccontextmanager
    async def connect(**callbacks: Any) -> AsyncIterator[Breaking]:
        async with Client(plain.server, **callbacks) as client:
            yield Breaking(client)

    async with GovernedClient(connect=connect, asker=person, trusted=True) as client:
        with pytest.raises(Odd):
            await client.call_tool("place_order", {"item": "a"})
        assert (await client.call_tool("place_order", {"item": "a"})).is_error
    assert (len(plain.log), len(person.asked)) == (1, 2)
