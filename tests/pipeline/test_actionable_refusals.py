"""A refusal says in its text who must do what, and where: the model reads nothing else."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server import MCPServer

from assent import Assent, GovernedClient, contract
from assent.config.rules import load_engine
from assent.core.outcome import Answer, Refusal
from assent.core.principal import Principal
from assent.core.problems import error_result
from assent.ports import OutcomeUnknown, ToolFailed
from assent.rules.guards.registry import build_guard
from assent.testing import World
from support.gateway.gateways import shop_gateway
from support.servers.plain_server import Plain, tool

APPROVER = {"wipe": {"side_effect": "destructive", "confirmation": {"by": "approver", "quorum": 2}}}
USER = {"wipe": {"side_effect": "destructive", "confirmation": {"by": "user"}}}
WRITE = {"note": {"side_effect": "write"}}
PAGES = {"page": lambda path: f"https://gate.example/console/{path}"}


def text_of(outcome: Any) -> str:
    assert isinstance(outcome, Refusal), outcome
    return str(error_result(outcome.problem())["content"][0]["text"])


async def test_a_pending_approval_names_the_people_the_page_and_the_command() -> None:
    world = World(APPROVER)
    world.but(**PAGES)
    text = text_of(await world.call("wipe"))
    assert "2 people with the role approver, other than the requester, must approve it" in text
    assert "at https://gate.example/console/approvals/id-1 or with `assent approvals approve id-1`" in text
    assert text.endswith("Once it is approved, call again with the same arguments.")


async def test_a_question_for_a_user_can_be_decided_by_any_person() -> None:
    world = World(USER)
    text = text_of(await world.call("wipe"))
    assert "Tell the user: a person must approve it with `assent approvals approve id-1` in their own terminal." in text


async def test_where_nothing_reaches_the_store_the_text_says_what_helps() -> None:
    world = World(USER)
    world.but(command=lambda words: None)
    assert "only a client that shows the question to its user can decide it" in text_of(await world.call("wipe"))


async def test_too_many_pending_calls_name_where_they_are_decided() -> None:
    world = World(USER)
    world.but(most_pending=1, **PAGES)
    await world.call("wipe", {"id": 1})
    text = text_of(await world.call("wipe", {"id": 2}))
    assert "a person must decide some of them at https://gate.example/console/approvals or with" in text


async def test_a_call_in_doubt_names_who_settles_it_and_where() -> None:
    world = World(WRITE, {"note": lambda _: OutcomeUnknown("gone")})
    world.but(**PAGES)
    for _ in range(2):  # as it happens, and when it is called again with its key
        text = text_of(await world.call("note", key="k"))
        assert "an operator then settles it at https://gate.example/console/claims or with `assent claims list`" in text


async def test_a_guard_names_the_field_itself_and_who_can_change_it() -> None:
    guard = build_guard({"rule": "allow_domains", "domains": ["example.com"], "match": {"tool": "note"}})
    world = World(WRITE, guards=(guard,))
    text = text_of(await world.call("note", {"to": "ann@evil.test"}))
    assert "Change `to`, or tell the user: the guard allow_domains forbids this." in text
    assert "An operator can change it under `guards:`." in text


async def test_a_policy_names_itself_and_who_can_change_it(tmp_path: Path) -> None:
    policy = '@id("no-notes")\nforbid(principal, action == Assent::Action::"note", resource);'
    (tmp_path / "p.cedar").write_text(policy)
    world = World(WRITE)
    world.but(policies=load_engine([tmp_path / "p.cedar"]))
    text = text_of(await world.call("note"))
    assert "Tell the user: the policy no-notes forbids it. An operator can change it under `policies:`" in text


@pytest.mark.parametrize(
    ("bearer", "says"), [(False, "an operator must give this caller"), (True, "log in again with")]
)
async def test_missing_scopes_name_who_can_give_them(bearer: bool, says: str) -> None:
    world = World({"note": {"side_effect": "write", "permissions": ["notes:write"]}})
    caller = Principal("bot", "agent", bearer=bearer)
    assert f"Tell the user: {says}" in (text := text_of(await world.call("note", by=caller)))
    assert "the scopes notes:write" in text


async def test_a_missing_dry_run_names_its_argument() -> None:
    world = World({"note": {"side_effect": "write", "dry_run": {"mode": "required", "simulated": "accepted"}}})
    assert "Call it with `dryRun: true`, read the preview" in text_of(await world.call("note"))


async def test_a_missing_key_names_who_can_help_if_the_model_cannot_send_one() -> None:
    world = World({"note": {"side_effect": "write", "idempotency": {"key": "required"}}})
    assert "If the host cannot send keys, an operator can set" in text_of(await world.call("note"))


async def test_the_gateway_names_its_console_and_the_command(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, public_url="https://gate.example") as (url, _, _), Client(url) as client:
        waiting = await client.call_tool("delete_order", {"order_id": "1"})
    text = waiting.content[0].text  # type: ignore[union-attr]
    assert "a person with the role approver, other than the requester, must approve it at https://gate.example" in text
    assert "`assent approvals approve " in text


async def test_a_required_key_that_hosts_cannot_send_is_told_to_the_operator_at_load(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "keys.yaml").write_text("tools: {place_order: {side_effect: write, idempotency: {key: required}}}")
    with caplog.at_level(logging.WARNING):
        async with shop_gateway(tmp_path, contracts=[str(tmp_path / "keys.yaml")]) as (_, app, _):
            await app.reload("shop")
    told = [one.message for one in caplog.records if "requires an idempotency key" in one.message]
    assert len(told) == 1 and told[0].startswith("place_order: ")


def test_a_library_server_tells_it_too(caplog: pytest.LogCaptureFixture) -> None:
    from mcp.server import MCPServer

    assent = Assent()
    server = MCPServer("notes", extensions=[assent.extension()])

    @server.tool()
    @contract(side_effect="write", idempotency={"key": "required"})
    def write_note(text: str) -> str:
        return text

    with caplog.at_level(logging.WARNING):
        assent.apply(server)
    assert "write_note: the contract requires an idempotency key" in caplog.text


async def test_a_client_without_an_asker_says_that_it_has_nobody_to_ask() -> None:
    plain = Plain(tool("delete_all", description="Deletes everything."))
    async with GovernedClient(plain.server) as client:
        refused = await client.call_tool("delete_all")
    text = refused.content[0].text  # type: ignore[union-attr]
    assert "this client has no person to ask" in text and "`asker`" in text


@pytest.mark.parametrize(
    ("said", "shown"),
    [("No such note", "No such note. The"), ("No such note.", "No such note. The"), ("Really?", "Really? The"),
     ('It says "gone."', 'It says "gone." The'), ('It says "gone"', 'It says "gone". The')],
)  # fmt: skip
async def test_what_a_tool_says_ends_before_our_sentence_begins(said: str, shown: str) -> None:
    fields = {"side_effect": "read", "failure_modes": {"gone": {"class": "no_effect"}}}
    world = World({"tool": fields}, {"tool": lambda _: ToolFailed("gone", said)})
    answer = await world.call("tool")
    assert isinstance(answer, Answer)
    assert (
        answer.result["content"][0]["text"] == f"{shown} tool itself refused. Change what it rejects, or tell the user."
    )


async def test_missing_scopes_name_what_this_server_has_to_give_them() -> None:
    poor = Principal("ann", "agent", scopes=frozenset())

    @contract(side_effect="read", permissions=["notes:read"])
    def look() -> str:
        return ""

    world = World({"look": {"side_effect": "read", "permissions": ["notes:read"]}})
    assert "give this caller (`auth:`) the scopes notes:read" in text_of(await world.call("look", by=poor))
    assent = Assent(stdio=poor)
    server = MCPServer("notes", extensions=[assent.extension()])
    server.add_tool(look)
    assent.apply(server)
    async with Client(server) as client:
        told = str((await client.call_tool("look", {})).content)
    assert "give this caller (`principal=`, `stdio=` or `anonymous=` of `Assent(…)`) the scopes" in told
