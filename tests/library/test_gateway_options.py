"""Settings of the gateway that a library server has too: historic names, visibility, retention, notifications."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from fastmcp import FastMCP
from mcp import Client
from mcp.server import MCPServer

from assent import Assent, Principal, contract
from assent.errors import ContractError, SettingsError
from assent.fastmcp import Assent as FastMCPAssent
from assent.stores.memory import MemoryStore
from support.console.notice_sinks import hook
from support.servers.loopback_server import serving

AGENT = Principal("agent", "agent")
DAY = 86400
BOTH = pytest.mark.parametrize("make", [Assent, FastMCPAssent])


def shop(make: Any, **options: Any) -> tuple[Any, Any]:
    assent = make(principal=lambda _: AGENT, **options)
    extended = {"extensions": [assent.extension()]} if make is Assent else {}
    server: Any = (MCPServer if make is Assent else FastMCP)("shop", **extended)

    @server.tool()
    @contract(side_effect="destructive", permissions=["orders:delete"])
    def delete_order(order_id: str) -> str:
        return order_id

    @server.tool()
    @contract(side_effect="destructive", confirmation={"by": "approver"})
    def delete_draft(draft_id: str) -> str:
        return draft_id

    @server.tool()
    @contract(side_effect="write", autonomous=True, risk="low", idempotency={"key": "optional"})
    def note(text: str) -> str:
        return text

    assent.apply(server)
    return assent, server


async def listed(make: Any, **options: Any) -> dict[str, dict[str, Any]]:
    """The tools as they are on the wire."""
    _, server = shop(make, **options)
    app = server.streamable_http_app if make is Assent else server.http_app
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    async with serving(app(stateless_http=True, json_response=True)) as url, httpx2.AsyncClient() as client:
        answer = await client.post(url, json=body, headers={"accept": "application/json, text/event-stream"})
    return {one["name"]: one for one in answer.json()["result"]["tools"]}


@BOTH
async def test_hints_are_listed_under_their_historic_names_too(make: Any) -> None:
    for names, expected in (
        (False, {"destructiveHint"}),
        (True, {"destructive"}),
        ("both", {"destructiveHint", "destructive"}),
    ):
        hints = (await listed(make, profile="mcpgate", historic_names=names))["delete_draft"]["annotations"]
        assert {name for name in hints if name.startswith("destructive")} == expected


@BOTH
async def test_a_locked_tool_is_listed_to_callers_without_its_scope(make: Any) -> None:
    assert "delete_order" not in await listed(make)
    assert "delete_order" in await listed(make, visibility="locked")


async def test_results_are_kept_for_the_retention_of_the_server() -> None:
    now = [1_000_000.0]
    assent, server = shop(Assent, retention="1d", store=MemoryStore(), now=lambda: now[0])
    async with Client(server) as open_client:
        key = {"dev.assent/idempotencyKey": "k-1"}
        await open_client.call_tool("note", {"text": "one"}, meta=key)
        record = (await assent.store.claims(limit=1))[0]
        assert record.expires_at == pytest.approx(now[0] + DAY)


async def test_people_are_notified_of_a_call_that_waits() -> None:
    async with hook() as receiver:
        told = {"webhook": receiver.url, "secret": "a secret of the operator"}
        assent, server = shop(Assent, console="https://shop.example.com", notify=[told])
        async with Client(server) as open_client:
            await open_client.call_tool("delete_draft", {"draft_id": "d-1"})
            await receiver.until(1)
        body = json.loads(receiver.bodies[0])
        waiting = (await assent.store.approvals(limit=1))[0]
        assert body["url"] == f"https://shop.example.com/console/approvals/{waiting.id}"


def test_notifications_without_a_console_lead_nowhere_and_are_refused() -> None:
    with pytest.raises(SettingsError, match="console=True"):
        Assent(notify=[{"webhook": "https://hooks.example.com/x", "secret": "a secret of the operator"}])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"retention": "a year"}, "retention"),
        ({"visibility": "hidden"}, "visibility"),
        ({"console": "shop.example.com"}, "console"),
        ({"notify": [{"webhook": "https://hooks.example.com/x"}], "console": True}, "notify"),
    ],
)
def test_a_value_that_is_wrong_is_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises((ContractError, SettingsError), match=words):
        Assent(**options)
