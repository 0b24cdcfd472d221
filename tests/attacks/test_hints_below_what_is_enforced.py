"""What is listed is never more harmless than what is enforced, nor than what the server itself says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp.server import MCPServer
from mcp_types import ToolAnnotations

from assent.contract.profiles import profile, profile_names
from assent.contract.tool_listing import SPECIFIED_DEFAULTS, read_claims
from assent.upstreams.compiled_tools import UpstreamPolicy, compile_tools
from assent.upstreams.known import known_contracts, known_servers
from support.clients.transports import over_http
from support.gateway.gateways import gateway, post, rpc
from support.openapi.documents import ok, sending

LAX = {name: not default for name, default in SPECIFIED_DEFAULTS.items()}
STRICT = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
DESTROYS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": False}


def shop() -> MCPServer:
    server = MCPServer("shop", log_level="ERROR")

    @server.tool()
    def update_customer(id: str, mail: str) -> str:
        """Changes a customer's address."""
        return id

    @server.tool()
    def send_receipt(to: str) -> str:
        """Sends the receipt by e-mail to any address."""
        return to

    @server.tool()
    def add_note(text: str) -> str:
        """Adds a note."""
        return text

    @server.tool()
    def bulk_mail(to: list[str]) -> str:
        """Sends a message to many people."""
        return ""

    return server


async def listed(tmp_path: Path, server: MCPServer, contracts: str = "", **settings: Any) -> dict[str, dict[str, Any]]:
    """The tools as a client of the gateway reads them."""
    if contracts:
        (tmp_path / "own.yaml").write_text(contracts)
        settings["contracts"] = [str(tmp_path / "own.yaml")]
    async with over_http(server) as upstream:
        async with gateway(tmp_path, {"shop": {"url": upstream}}, **settings) as (url, _):
            return {one["name"]: one for one in (await post(url, rpc("tools/list"))).json()["result"]["tools"]}


async def test_under_geopera_a_guessed_or_risky_write_is_listed_as_destructive(tmp_path: Path) -> None:
    contracts = """
tools:
  add_note: {side_effect: write}
  bulk_mail: {side_effect: write, risk: critical}
"""
    tools = await listed(tmp_path, shop(), contracts, profile="geopera")
    said = {name: tool["_meta"]["x-side-effect"] for name, tool in tools.items()}
    assert said == {
        "update_customer": "destructive",
        "send_receipt": "destructive",
        "bulk_mail": "destructive",
        "add_note": "compute",  # the operator wrote it, and nobody is asked about it
    }
    hints = {name: {key: tool["annotations"][key] for key in DESTROYS} for name, tool in tools.items()}
    assert all(hints[name] == DESTROYS for name in ("update_customer", "send_receipt", "bulk_mail"))


async def test_an_undeclared_operation_that_archives_is_destructive_under_geopera(tmp_path: Path) -> None:
    body = sending({"type": "object", "properties": {"id": {"type": "string"}}})
    operation = {"operationId": "archive", "summary": "Archive a collection", "responses": ok(), "requestBody": body}
    marked = {**operation, "operationId": "tune", "summary": "Update settings", "x-side-effect": "compute"}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "maps", "version": "1"},
        "paths": {"/archive": {"post": operation}, "/tune": {"post": marked}},
    }
    (tmp_path / "api.json").write_text(json.dumps(document))
    maps = {"openapi": str(tmp_path / "api.json"), "base_url": "http://127.0.0.1:9", "profile": "geopera"}
    async with gateway(tmp_path, {"maps": maps}) as (url, _):
        tools = (await post(url, rpc("tools/list"))).json()["result"]["tools"]
    assert {one["name"]: one["_meta"]["x-side-effect"] for one in tools} == {
        "archive": "destructive",
        "tune": "compute",
    }


@pytest.mark.parametrize("chosen", [{}, {"chosen": True}, {"trust": "annotations"}], ids=str)
@pytest.mark.parametrize("name", profile_names())
@pytest.mark.parametrize("server", sorted(known_servers()))
def test_shipped_contracts_list_no_hint_that_is_laxer_than_the_server_s_own(
    server: str, name: str, chosen: dict[str, Any]
) -> None:
    definitions = [
        {"name": tool, "inputSchema": {"type": "object"}, "annotations": STRICT} for tool in known_servers()[server]
    ]
    policy = UpstreamPolicy("up", profile(name), **chosen)
    shipped = known_contracts(server, definitions, policy)
    assert shipped
    found = compile_tools(definitions, {}, policy, shipped=shipped, blanket=True)
    for tool in found.tools:
        claims = read_claims(tool.definition)
        assert [hint for hint, lax in LAX.items() if claims.effective(hint) is lax] == [], tool.name


@pytest.mark.parametrize("name", profile_names())
def test_a_guess_never_lists_a_tool_as_read_only_and_destructive(name: str) -> None:
    both = {"readOnlyHint": True, "destructiveHint": True}
    seen = [{"name": f"list_{n}", "description": "Lists.", "inputSchema": {"type": "object"}} for n in range(4)]
    definitions = [{**one, "annotations": both} for one in seen]
    for more in ({}, {"chosen": True}, {"trust": "annotations"}):
        for tool in compile_tools(definitions, {}, UpstreamPolicy("up", profile(name), **more)).tools:
            claims = read_claims(tool.definition)
            assert not (claims.read_only and claims.destructive)


async def test_a_contract_of_the_operator_wins_over_the_server_s_hints(tmp_path: Path) -> None:
    server = MCPServer("shop", log_level="ERROR")

    @server.tool(annotations=ToolAnnotations(read_only_hint=False, destructive_hint=True))
    def add_note(text: str) -> str:
        """Adds a note."""
        return text

    tools = await listed(tmp_path, server, "tools: {add_note: {side_effect: write}}")
    assert tools["add_note"]["annotations"]["destructiveHint"] is False


@pytest.mark.parametrize("contracts", ["", "tools: {send_mail: {side_effect: write}}"], ids=["guessed", "written"])
async def test_the_title_of_the_server_is_what_hosts_show(tmp_path: Path, contracts: str) -> None:
    server = MCPServer("shop", log_level="ERROR")

    @server.tool(title="Send E-Mail", annotations=ToolAnnotations(title="Send an E-Mail"))
    def send_mail(to: str) -> str:
        """Sends a message."""
        return to

    tool = (await listed(tmp_path, server, contracts))["send_mail"]
    assert (tool["title"], tool["annotations"]["title"]) == ("Send E-Mail", "Send an E-Mail")


async def test_a_title_in_the_contract_wins(tmp_path: Path) -> None:
    server = shop()
    tool = (await listed(tmp_path, server, "tools: {add_note: {side_effect: write, title: Remember}}"))["add_note"]
    assert (tool["title"], tool["annotations"]["title"]) == ("Remember", "Remember")
