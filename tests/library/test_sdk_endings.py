"""How do the less usual ends of a function reach the client: a protocol error, or a question of the tool's own?"""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError

from assent.contract.decorator import contract
from assent.library.governance import Assent
from support.clients.transports import Person


def asking(seen: list[str]) -> Any:
    """A function that asks the person at the client itself, in the way of the modern era."""

    async def ask(ctx: Context) -> types.CallToolResult | types.InputRequiredResult:
        answers = ctx.input_responses or {}
        seen.append(str(ctx.request_state))
        if "colour" not in answers:
            question = types.ElicitRequestFormParams(
                message="Which colour?", requested_schema={"type": "object", "properties": {}}
            )
            return types.InputRequiredResult(
                input_requests={"colour": types.ElicitRequest(params=question)}, request_state="mine"
            )
        return types.CallToolResult(content=[types.TextContent(text=f"{answers['colour'].action}ed")])

    return ask


@pytest.mark.parametrize("tier", ["read", "write"])
async def test_a_tools_own_question_reaches_the_client_and_its_answer_the_tool(tier: str) -> None:
    assent, seen = Assent(), list[str]()
    server = MCPServer("shop", extensions=[assent.extension()])
    server.add_tool(contract(side_effect=tier)(asking(seen)), name="ask", structured_output=False)
    assent.apply(server)
    person = Person(["accept"])
    async with Client(server, elicitation_callback=person) as client:
        result = await client.call_tool("ask", {})
    assert person.asked == ["Which colour?"]
    assert result.content[0].text == "accepted"
    assert seen == ["None", "mine"]
    await assent.close()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_protocol_error_of_a_read_is_its_authors_own_and_is_recorded_as_a_failure(mode: str) -> None:
    assent = Assent()
    server = MCPServer("shop", extensions=[assent.extension()])

    @server.tool()
    @contract(side_effect="read")
    def look() -> str:
        raise MCPError(-31_999, "Come back tomorrow.", {"when": "tomorrow"})

    assent.apply(server)
    async with Client(server, mode=mode) as client:
        with pytest.raises(MCPError) as error:
            await client.call_tool("look", {})
    assert (error.value.code, error.value.message, error.value.data) == (
        -31_999,
        "Come back tomorrow.",
        {"when": "tomorrow"},
    )
    [logged] = await assent.store.entries()
    assert (logged.entry.kind, logged.entry.facts["tool"]) == ("failure", "look")
    await assent.close()
