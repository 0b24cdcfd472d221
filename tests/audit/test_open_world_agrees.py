"""The log's open-world calls are those that agents read as open world, under every profile, in the library too."""

from __future__ import annotations

import pytest
from mcp import Client
from mcp.server import MCPServer

from assent import Assent, contract
from assent.contract.profiles import profile_names
from assent.stores.memory import MemoryStore


@contract(side_effect="read")
def read_email(id: str) -> str:
    return id


@contract(side_effect="read", open_world=False)
def remove_label(id: str) -> str:
    return id


@contract(side_effect="read", open_world=True)
def fetch_page(id: str) -> str:
    return id


@pytest.mark.parametrize("name", profile_names())
async def test_every_call_of_a_tool_that_is_listed_as_open_world_is_found_in_the_log(name: str) -> None:
    store = MemoryStore()
    assent = Assent(store=store, profile=name, completeness="noted")
    server = MCPServer("mail", extensions=[assent.extension()], log_level="ERROR")
    for function in (read_email, remove_label, fetch_page):
        server.add_tool(function)
    assent.apply(server)
    async with Client(server) as client:
        listed = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        for tool in listed:
            await client.call_tool(tool, {"id": "1"})
    logged = {entry.entry.facts["tool"]: entry.entry.facts.get("open_world", False) for entry in await store.entries()}
    assert logged == {tool: hints is not None and hints.open_world_hint for tool, hints in listed.items()}
