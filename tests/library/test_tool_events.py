"""Events that a function records are in the audit log beside its outcome, on servers of both frameworks."""

from __future__ import annotations

from typing import Any

import pytest
from fastmcp import Client as FastClient
from fastmcp import FastMCP
from mcp import Client
from mcp.server import MCPServer

from assent import Assent, ToolFailed, contract, record_event
from assent.errors import SettingsError
from assent.fastmcp import Assent as FastAssent
from assent.testing import collecting_events


@contract(side_effect="write", failure_modes={"bounced": {}})
def send(to: list[str]) -> dict[str, int]:
    """Sends a letter to everyone."""
    for one in to:
        if not one:
            raise ToolFailed("bounced", "An address is empty.")
        record_event("letter.sent", to=one)
    return {"sent": len(to)}


@contract(side_effect="read")
async def look(id: str) -> str:
    """Shows a letter."""
    record_event("letter.shown", id=id)
    return "Dear Anna"


@contract(side_effect="write", dry_run={"mode": "offered"})
def careless(dryRun: bool = False) -> str:
    """Records an event in its dry run."""
    record_event("letter.sent")
    return "sent"


def sdk() -> tuple[Any, Assent]:
    assent = Assent()
    server = MCPServer("post", extensions=[assent.extension()], log_level="CRITICAL")
    for function in (send, look, careless):
        server.add_tool(function)
    assent.apply(server)
    return Client(server), assent


def fast() -> tuple[Any, FastAssent]:
    assent, server = FastAssent(), FastMCP[Any]("post")
    for function in (send, look, careless):
        server.tool(function)
    assent.apply(server)
    return FastClient(server), assent


async def log_of(assent: Any) -> list[tuple[str, str, Any]]:
    await assent.store.flush()
    entries = [logged.entry for logged in await assent.store.entries(limit=10_000)]
    return [(one.kind, one.facts["event"], one.values.get("event")) for one in entries if "event" in one.facts]


@pytest.mark.parametrize("make", [sdk, fast], ids=["SDK", "FastMCP"])
async def test_events_are_written_with_the_outcome_in_their_order(make: Any) -> None:
    client, assent = make()
    async with client:
        await client.call_tool("send", {"to": ["anna", "max"]})
    log = await log_of(assent)
    assert [(kind, event) for kind, event, _ in log] == [
        ("intent", "send.called"),
        ("event", "letter.sent"),
        ("event", "letter.sent"),
        ("outcome", "send.called"),
    ]
    assert ["anna" in str(values) for kind, _, values in log if kind == "event"] == [True, False]


async def test_a_failed_call_keeps_the_events_of_what_it_did() -> None:
    client, assent = sdk()
    async with client:
        await client.call_tool("send", {"to": ["anna", "", "max"]})
    assert [event for kind, event, _ in await log_of(assent) if kind == "event"] == ["letter.sent"]


async def test_a_replay_records_nothing_again() -> None:
    client, assent = sdk()
    async with client:
        for _ in range(2):
            await client.call_tool("send", {"to": ["anna"]}, meta={"dev.assent/idempotencyKey": "k"})
    assert [kind for kind, _, _ in await log_of(assent)] == ["intent", "event", "outcome", "replay"]


async def test_a_read_can_record_events_too() -> None:
    client, assent = sdk()
    async with client:
        await client.call_tool("look", {"id": "l-1"})
    assert ("event", "letter.shown") in [(kind, event) for kind, event, _ in await log_of(assent)]


async def test_many_events_of_one_call_are_all_there() -> None:
    client, assent = sdk()
    async with client:
        await client.call_tool("send", {"to": [f"p{number}" for number in range(4821)]})
    assert sum(kind == "event" for kind, _, _ in await log_of(assent)) == 4821


async def test_a_dry_run_that_records_an_event_fails_and_records_nothing() -> None:
    client, assent = sdk()
    async with client:
        result = await client.call_tool("careless", {"dryRun": True})
    assert "rehearse.failed" in result.model_dump_json()
    assert [event for kind, event, _ in await log_of(assent) if kind == "event"] == []


def test_outside_a_call_an_event_is_an_error_unless_a_test_collects_it() -> None:
    with pytest.raises(RuntimeError, match="needs a governed call"):
        record_event("letter.sent")
    with collecting_events() as events:
        send(["anna"])
        with pytest.raises(ValueError, match="is not an event name"):
            record_event("to anna")
    assert [event.name for event in events] == ["letter.sent"]


async def test_limits_and_budgets_are_written_as_in_the_configuration() -> None:
    assent = Assent(limits=[{"match": {"tool": "send"}, "calls": 1, "per": "1m"}], budgets=[{"amount": 5, "per": "1d"}])
    server = MCPServer("post", extensions=[assent.extension()], log_level="CRITICAL")
    server.add_tool(send)
    assent.apply(server)
    async with Client(server) as client:
        await client.call_tool("send", {"to": ["anna"]})
        second = await client.call_tool("send", {"to": ["max"]})
    assert "claim.rate_limited" in second.model_dump_json()


def test_a_limit_that_is_written_wrongly_names_its_place() -> None:
    with pytest.raises(SettingsError, match=r"limits\.calls"):
        Assent(limits=[{"calls": 0, "per": "1m"}])
