"""EPD's document, statement by statement; `examples/epd/STATEMENTS.md` names the test of each."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from assent import Assent, GovernedClient, needs_confirmation
from assent.client import Answer
from assent.contract.infer import classify
from assent.testing.assertions import tools_of
from support.clients.transports import ROOT, Person, connect, over_http
from support.documents.example_statements import assert_every_statement_has_a_test, run
from support.gateway.gateways import gateway, post, rpc

sys.path.insert(0, str(ROOT))
from examples.epd.conversation import converse
from examples.epd.server import DESTRUCTIVE, READS, WRITES, Platform, add_tools, build, build_plain
from mcp.server import MCPServer

FLAGS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
CONTRACTS = str(ROOT / "examples/epd/contracts.yaml")


def definitions() -> dict[str, dict[str, Any]]:
    server, _ = build()
    return {tool["name"]: dict(tool) for tool in tools_of(server)}


def having(flag: str) -> list[str]:
    return sorted(name for name, tool in definitions().items() if tool["annotations"][flag])


def yes(question: Any) -> Answer:
    return Answer("accept")


def plain(platform: Platform, *names: str) -> MCPServer:
    """The platform's own server with the flags of these tools."""
    listed = definitions()
    return build_plain({name: listed[name]["annotations"] for name in names}, platform)


async def no_time(seconds: float) -> None:
    return None


def test_every_tool_declares_four_booleans() -> None:
    for tool in definitions().values():
        assert [name for name in tool["annotations"] if name != "title"] == list(FLAGS)
        assert all(isinstance(tool["annotations"][flag], bool) for flag in FLAGS)


def test_the_safe_list_is_read_only() -> None:
    assert having("readOnlyHint") == sorted(READS)


def test_the_destructive_list_is_destructive() -> None:
    assert having("destructiveHint") == sorted(DESTRUCTIVE)


def test_reads_and_most_changes_are_idempotent_and_refunds_are_not() -> None:
    found = set(having("idempotentHint"))
    assert set(READS) <= found
    assert {"update_customer", "delete_customer", "cancel_subscription"} <= found
    assert not found & {"refund_order", "refund_transaction", "refund_and_cancel", "create_customer", "create_order"}
    assert len(found) > len(definitions()) / 2


def test_only_the_tool_that_delivers_to_a_foreign_address_is_open_world() -> None:
    assert having("openWorldHint") == ["deliver_webhook"]


def test_cancel_subscription_is_printed_as_in_the_document() -> None:
    tool = definitions()["cancel_subscription"]
    assert tool["description"].startswith("Cancel an existing subscription. Cancelling at period end keeps access")
    assert tool["annotations"] == {
        "title": "Cancel subscription",
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": True,
        "openWorldHint": False,
    }


async def test_cancelling_twice_is_harmless() -> None:
    platform = Platform()
    server, assent = build(platform=platform)
    async with connect(server, "2026-07-28", Person(["accept", "accept"])) as client:
        first = await client.call_tool("cancel_subscription", {"id": "s-1"})
        again = await client.call_tool("cancel_subscription", {"id": "s-1"})
    await assent.close()
    assert first.structured_content == again.structured_content
    assert platform.cancelled == {"s-1"}


async def test_reads_run_freely_and_destructive_calls_ask() -> None:
    asked: list[str] = []

    def no(question: Any) -> Answer:
        asked.append(question.tool)
        return Answer("decline")

    platform = Platform()
    server, assent = build(platform=platform)
    async with GovernedClient(server, trusted=True, profile="epd", asker=no) as client:
        for name in [*READS, *DESTRUCTIVE]:
            await client.call_tool(name, {"id": "x"})
    await assent.close()
    assert asked == DESTRUCTIVE
    assert [line.split()[0] for line in platform.done] == READS


@pytest.mark.parametrize("name", [*READS, *WRITES, *DESTRUCTIVE])
def test_the_flags_alone_decide_who_is_asked(name: str) -> None:
    wire = {key: value for key, value in definitions()[name].items() if key != "_meta"}
    assert needs_confirmation(wire, profile="epd") is (name in DESTRUCTIVE)


@pytest.mark.parametrize("name", ["list_orders", "update_customer", "deliver_webhook"])
async def test_an_idempotent_call_is_repeated_after_a_503_without_a_question(name: str) -> None:
    platform = Platform(outages=1)
    async with GovernedClient(plain(platform, name), trusted=True, profile="epd", sleep=no_time) as client:
        result = await client.call_tool(name, {"id": "x"})
    assert not result.is_error
    assert len(platform.done) == 2


@pytest.mark.parametrize(("option", "tries"), [(False, 1), (None, 2), (True, 2)])
async def test_a_destructive_idempotent_call_is_repeated_unless_the_client_is_told_not_to(
    option: bool | None, tries: int
) -> None:
    platform = Platform(outages=1)
    server = plain(platform, "cancel_subscription")
    async with GovernedClient(
        server, trusted=True, profile="epd", asker=yes, sleep=no_time, repeat_destructive=option
    ) as client:
        await client.call_tool("cancel_subscription", {"id": "s-1"})
    assert len(platform.done) == tries


@pytest.mark.parametrize("name", ["create_order", "refund_order"])
async def test_a_call_that_is_not_idempotent_is_made_once(name: str) -> None:
    platform = Platform(outages=1)
    server = plain(platform, name)
    async with GovernedClient(
        server, trusted=True, profile="epd", asker=yes, sleep=no_time, repeat_destructive=True
    ) as client:
        await client.call_tool(name, {"id": "x"})
    assert len(platform.done) == 1


async def test_the_client_logs_open_world_calls_separately() -> None:
    said: list[str] = []
    await converse(said.append)
    assert said[-1] == "       calls that left the platform: ['deliver_webhook']"


def test_the_server_logs_open_world_calls_separately(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"

    async def use() -> None:
        server, assent = build(store)
        async with connect(server, "2026-07-28", None) as client:
            for name in ("list_orders", "deliver_webhook", "update_customer"):
                await client.call_tool(name, {"id": "x"})
        await assent.close()

    asyncio.run(use())
    (tmp_path / "assent.yaml").write_text(f"store: {store}\nsecrets: {{directory: {tmp_path}/keys}}\n")
    told = run("audit", "tail", "--open-world", "-c", str(tmp_path / "assent.yaml"))
    assert "deliver_webhook" in told
    assert "list_orders" not in told
    assert "update_customer" not in told


async def test_a_live_key_reaches_live_data_a_test_key_never_and_the_question_says_which(tmp_path: Path) -> None:
    live, trial = Platform(), Platform()
    keys = [
        {"name": "agent", "key": "live-key-0123456789", "kind": "agent", "scopes": ["*"], "mode": "live"},
        {"name": "trial", "key": "test-key-0123456789", "kind": "agent", "scopes": ["*"], "mode": "test"},
        {"name": "ann", "key": "ann-key-00123456789", "kind": "human", "scopes": ["*"], "roles": ["approver"]},
    ]
    servers = [MCPServer("epd", log_level="ERROR") for _ in range(2)]
    add_tools(servers[0], live)
    add_tools(servers[1], trial)
    async with over_http(servers[0]) as first, over_http(servers[1]) as second:
        upstream = {"url": first, "test": {"url": second}}
        more = {"profile": "epd", "contracts": [CONTRACTS], "auth": {"api_keys": keys}}
        async with gateway(tmp_path, {"epd": upstream}, **more) as (url, _):
            for key in ("live", "test"):
                bearer = {"Authorization": f"Bearer {key}-key-0123456789"}
                called = await post(url, rpc("tools/call", name="list_orders", arguments={}), **bearer)
                assert called.json()["result"].get("isError") is not True
                call = rpc("tools/call", name="cancel_subscription", arguments={"id": key})
                assert "approval_pending" in (await post(url, call, **bearer)).text
            base = url.removesuffix("/mcp")
            waiting = await fetch(f"{base}/api/approvals", "ann-key-00123456789")
    assert (live.done, trial.done) == (["list_orders"], ["list_orders"])
    lines = [line for one in waiting["approvals"] for line in one["text"].splitlines()]
    assert sorted(line for line in lines if line.startswith("Against")) == [
        "Against the live endpoint.",
        "Against the test endpoint.",
    ]


async def test_tools_are_browsed_by_safety(tmp_path: Path) -> None:
    keys = [{"name": "ann", "key": "ann-key-00123456789", "kind": "human", "scopes": ["*"], "roles": ["approver"]}]
    server = MCPServer("epd", log_level="ERROR")
    add_tools(server, Platform())
    async with over_http(server) as upstream:
        more = {"profile": "epd", "contracts": [CONTRACTS], "auth": {"api_keys": keys}}
        async with gateway(tmp_path, {"epd": {"url": upstream}}, **more) as (url, _):
            listing = f"{url.removesuffix('/mcp')}/api/tools?tier="
            found = {tier: await fetch(listing + tier, "ann-key-00123456789") for tier in ("read", "destructive")}
    names = {tier: sorted(tool["name"] for tool in page["tools"]) for tier, page in found.items()}
    assert names == {"read": sorted(READS), "destructive": sorted(DESTRUCTIVE)}


async def fetch(url: str, key: str) -> Any:
    async with httpx2.AsyncClient() as client:
        return (await client.get(url, headers={"Authorization": f"Bearer {key}"})).json()


def test_a_pattern_says_it_once_also_for_a_tool_that_is_added_later() -> None:
    text = Path(CONTRACTS).read_text()
    assert "list_*:" in text and not [name for name in READS if name.startswith("list_") and f"{name}:" in text]
    assent = Assent(contracts=CONTRACTS, profile="epd")
    server = MCPServer("epd", extensions=[assent.extension()], log_level="ERROR")
    add_tools(server, Platform())
    server.tool(name="list_invoices")(lambda: None)
    assent.apply(server)
    (added,) = [tool for tool in tools_of(server) if tool["name"] == "list_invoices"]
    assert added["annotations"]["readOnlyHint"] is True


@pytest.mark.parametrize("name", [*READS, *WRITES, *DESTRUCTIVE])
def test_the_names_alone_are_understood_where_no_contract_is(name: str) -> None:
    found = classify({"name": name, "description": "", "inputSchema": {"type": "object"}})
    assert (found.read_only, found.destructive) == (name in READS, name in DESTRUCTIVE)


def test_every_statement_has_a_test() -> None:
    suffixed = {12: ["b"], 14: ["b"], 16: ["b"]}
    ids = [f"E{n}{s}" for n in range(1, 24) for s in ["", *suffixed.get(n, [])]]
    assert_every_statement_has_a_test("epd", sys.modules[__name__], ids)
