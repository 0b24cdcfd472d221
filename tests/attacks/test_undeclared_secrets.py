"""A token that a tool shares is not kept and not replayed, also where nothing declares it a secret."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from mcp.server import MCPServer

from assent import Assent, GovernedClient
from assent.contract.reader import read_contract
from assent.core.one_time_secrets import ALREADY_DELIVERED
from assent.core.outcome import Answer, Refusal
from assent.testing import World
from support.clients.person import Somebody
from support.openapi.documents import api, ok

TOKEN = "t0ken-7f3a"
ASKS_NOBODY = {"confirmation": {"by": "none", "because": "The test asks nobody."}}
SHARED = {
    "content": [{"type": "text", "text": f"https://files.test/{TOKEN}"}],
    "structuredContent": {"link": {"token": TOKEN}},
    "_meta": {"example/link": TOKEN},
}


async def called_twice(**fields: Any) -> tuple[World, Any, Any]:
    """The world, and what the first call and its retry were answered."""
    world = World({"share": {"side_effect": "share_export", **ASKS_NOBODY, **fields}})
    world.upstream.functions["share"] = lambda _: dict(SHARED)
    first = await world.call("share", {"file": "a"}, key="k")
    return world, first, await world.call("share", {"file": "a"}, key="k")


async def test_a_retry_gets_nothing_of_what_was_shared() -> None:
    world, first, again = await called_twice()
    assert TOKEN in orjson.dumps(first.result).decode()
    assert isinstance(again, Answer)
    assert again.replayed
    assert again.result["_meta"] == {ALREADY_DELIVERED: [""]}
    assert TOKEN not in orjson.dumps(again.result).decode()
    assert len(world.upstream.effects) == 1


async def test_where_an_output_schema_needs_it_the_retry_is_refused() -> None:
    output = {"type": "object", "required": ["link"], "properties": {"link": {"type": "object"}}}
    _, _, again = await called_twice(output=output)
    assert isinstance(again, Refusal)
    assert again.code == "recall.secret_already_delivered"


@pytest.mark.parametrize("fields", [{"secrets": []}, {"natural": {"by": ["file"]}}], ids=["no secrets", "natural key"])
async def test_a_contract_that_speaks_of_it_has_the_link_returned_again(fields: dict[str, Any]) -> None:
    _, _, again = await called_twice(**fields)
    assert again.replayed
    assert again.result["structuredContent"] == SHARED["structuredContent"]


async def test_an_error_of_such_a_tool_can_be_read_again() -> None:
    world = World({"share": {"side_effect": "share_export", **ASKS_NOBODY}})
    said = {"content": [{"type": "text", "text": "No such file."}], "isError": True}
    world.upstream.functions["share"] = lambda _: dict(said)
    await world.call("share", {"file": "a"}, key="k")
    again = await world.call("share", {"file": "a"}, key="k")
    assert again.result["content"] == said["content"]


@pytest.mark.parametrize(("overlay", "secret"), [({}, True), ({"secrets": []}, False)])
def test_an_operation_of_an_api_that_shares_is_such_a_tool(overlay: dict[str, Any], secret: bool) -> None:
    operation = {"operationId": "share", "x-side-effect": "share_export", "responses": ok({"type": "object"})}
    fields = api({"/share": {"post": operation}}).tools["share"].fields
    assert read_contract("share", {**fields, **overlay}).is_secret_whole is secret


@pytest.mark.parametrize(
    ("fields", "withheld"),
    [
        ({}, True),
        ({"secrets": ["/link/token"]}, True),
        ({"secrets": []}, False),
        ({"natural": {"by": ["file"]}}, False),
    ],
    ids=["undeclared", "declared", "no secrets", "natural key"],
)
async def test_the_client_withholds_from_the_model_what_the_server_calls_secret(
    fields: dict[str, Any], withheld: bool
) -> None:
    governed = Assent(
        contracts={"share": read_contract("share", {"side_effect": "share_export", **ASKS_NOBODY, **fields})}
    )
    server = MCPServer("files", extensions=[governed.extension()])

    @server.tool()
    def share(file: str) -> dict[str, Any]:
        """Shares a file."""
        return {"link": {"token": TOKEN}}

    governed.apply(server)
    async with GovernedClient(server, asker=Somebody(True), trusted=True) as client:
        seen = (await client.call_tool("share", {"file": "a"})).model_dump_json()
    assert (TOKEN not in seen) is withheld
