"""A retry with state that is not Assent's for this very call does not reach the function."""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError

from assent.contract.decorator import contract
from assent.library.governance import Assent

ANSWERS = {"colour": {"action": "accept", "content": {}}}


def shop(assent: Assent, ran: list[Any]) -> MCPServer:
    server = MCPServer("shop", extensions=[assent.extension()])

    @server.tool(structured_output=False)
    @contract(side_effect="write")
    def paint(wall: str, ctx: Context) -> str:
        ran.append((wall, sorted(ctx.input_responses or {}), ctx.request_state))
        return "painted"

    assent.apply(server)
    return server


async def send(client: Client, **params: Any) -> types.CallToolResult:
    request = types.CallToolRequest(params=types.CallToolRequestParams.model_validate({"name": "paint", **params}))
    return await client.session.send_request(request, types.CallToolResult)


async def test_a_state_that_is_not_ours_is_refused_and_nothing_runs() -> None:
    assent, ran = Assent(), list[Any]()
    async with Client(shop(assent, ran)) as client:
        with pytest.raises(MCPError, match="requestState"):
            await send(client, arguments={"wall": "north"}, requestState="mine", inputResponses=ANSWERS)
    assert ran == []
    await assent.close()


async def test_answers_to_no_question_are_logged_like_arguments() -> None:
    assent, ran = Assent(), list[Any]()
    async with Client(shop(assent, ran)) as client:
        await send(client, arguments={"wall": "north"}, inputResponses=ANSWERS)
    assert ran == [("north", ["colour"], None)]
    intent, _ = await assent.store.entries()
    assert b"colour" in json.dumps(intent.entry.values, default=lambda raw: raw.decode()).encode()
    await assent.close()
