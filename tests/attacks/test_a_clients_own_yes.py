"""A client that says yes by itself: at once, with an old question, with a claim, as one of many."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from click.testing import CliRunner
from mcp import Client, StdioServerParameters
from mcp.server.mcpserver import MCPServer

from assent import Assent, contract
from assent.cli import cli
from assent.core.approval import LONGEST_READING, SHORTEST_READING, Approval, reading_time
from assent.core.call import UserAnswer
from assent.core.outcome import Answer, Pause, Refusal
from assent.core.principal import Principal
from assent.core.shown_records import approval_as_json, decider_of
from assent.mcp.requests import QUESTION_OPEN
from assent.pipeline.approve import approve
from assent.testing import AGENT, ANN, World
from support.clients.transports import ROOT
from support.console.plain_browser import signed_in
from support.decisions.problems import problem
from support.gateway.gateways import ANYBODY, shop_gateway
from support.gateway.wrap_process import ASSENT, home

UNKNOWN = replace(AGENT, asks=None)
ERAS = ["legacy", "2026-07-28"]
SLOW = 30.0
ODD = str(ROOT / "tests" / "support" / "servers" / "odd_server.py")


class Bypass:
    """A client that accepts every question, some seconds later by the server's clock."""

    def __init__(self, wait: Callable[[], None] = lambda: None) -> None:
        self.asked: list[str] = []
        self._wait = wait

    async def __call__(self, context: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params.message)
        self._wait()
        return types.ElicitResult(action="accept", content={})


def client_of(url: Any, era: str, person: Bypass) -> Client:
    info = types.Implementation(name="eager-cli", version="1")
    return Client(url, mode=era, elicitation_callback=person, client_info=info)


def notes(clock: Callable[[], float], **fields: Any) -> tuple[MCPServer, Assent, list[str]]:
    """A server whose one tool needs a person by its risk."""
    written: list[str] = []
    assent = Assent(now=clock)
    server = MCPServer("notes", extensions=[assent.extension()], log_level="ERROR")

    @server.tool()
    @contract(side_effect="write", risk="high", **fields)
    def publish(text: str) -> dict[str, str]:
        """Publishes a note."""
        written.append(text)
        return {"published": text}

    assent.apply(server)
    return server, assent, written


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("seconds", "runs"), [(0.0, False), (0.007, False), (0.025, False), (0.9, False), (5.0, True), (SLOW, True)]
)
async def test_a_yes_counts_only_if_a_person_had_time_to_read(era: str, seconds: float, runs: bool) -> None:
    clock = World({}).clock
    server, assent, written = notes(clock)
    person = Bypass(lambda: clock.advance(seconds))
    async with client_of(server, era, person) as client:
        result = await client.call_tool("publish", {"text": "hello"})
        approval = (await assent.store.approvals())[0]
    await assent.close()
    assert (written, bool(result.is_error)) == ((["hello"], False) if runs else ([], True))
    decision = approval.decisions[0]
    assert (decision.verdict, decision.client) == ("approve" if runs else "too_fast", "eager-cli")
    assert decision.seconds == pytest.approx(seconds, abs=0.001)
    if not runs:
        assert problem(result)["code"] == "confirm.approval_pending"
        assert "before a person could read" in problem(result)["detail"]


def test_the_time_to_read_grows_with_the_text_between_a_floor_and_a_ceiling() -> None:
    times = [reading_time("x" * size) for size in (0, 10, 300, 600, 1_200, 1_000_000)]
    assert times == [SHORTEST_READING, SHORTEST_READING, 1.0, 2.0, 4.0, LONGEST_READING]


@pytest.mark.parametrize("era", ERAS)
async def test_an_old_question_asked_again_gives_no_time_to_read(era: str) -> None:
    """The time counts from the question that was answered, not from the first one about this call."""
    clock = World({}).clock
    server, assent, written = notes(clock)
    async with Client(server, mode=era) as silent:
        assert problem(await silent.call_tool("publish", {"text": "hello"}))["code"] == "confirm.approval_pending"
    clock.advance(600)
    person = Bypass()
    async with client_of(server, era, person) as client:
        result = await client.call_tool("publish", {"text": "hello"})
        again = await client.call_tool("publish", {"text": "hello"})
    await assent.close()
    assert (written, len(person.asked)) == ([], 1), "after a yes that does not count, the client is not asked again"
    assert {problem(one)["code"] for one in (result, again)} == {"confirm.approval_pending"}


async def test_after_an_unread_yes_a_person_elsewhere_lets_the_call_run() -> None:
    world = World({"publish": {"side_effect": "write", "risk": "high"}})
    asked = await world.call("publish", {}, by=UNKNOWN, can_ask=True)
    assert isinstance(asked, Pause)
    reply = UserAnswer(asked.approval.id, "accept", 0.007)
    assert isinstance(await world.call("publish", {}, by=UNKNOWN, reply=reply, can_ask=True), Refusal)
    slower = UserAnswer(asked.approval.id, "accept", SLOW)
    assert isinstance(await world.call("publish", {}, by=UNKNOWN, reply=slower, can_ask=True), Refusal)
    await approve(ANN, asked.approval.id, "approve", world.ports)
    assert isinstance(await world.call("publish", {}, by=UNKNOWN, can_ask=True), Answer)


@pytest.mark.parametrize(
    ("claim", "recorded"), [(12.5, 12.5), (-1, None), ("9", None), (True, None), (float("1e9"), None), ([9], None)]
)
async def test_a_claimed_time_is_recorded_as_a_claim(claim: Any, recorded: float | None) -> None:
    clock = World({}).clock
    server, assent, _ = notes(clock)
    async with client_of(server, "legacy", Bypass()) as client:
        await client.call_tool("publish", {"text": "hello"}, meta={QUESTION_OPEN: claim})
        approval = (await assent.store.approvals())[0]
        entries = await assent.store.entries()
    await assent.close()
    decision = approval.decisions[0]
    assert (decision.seconds, decision.claimed) == (0.0, recorded)
    values = next(one.entry.values for one in entries if one.entry.kind == "decision")
    assert (values["client"], values["seconds"], values.get("claimed")) == ("eager-cli", 0.0, recorded)
    if recorded is not None:
        assert decider_of(decision).endswith("(it says that its own question was open for 12.50 s)")


@pytest.mark.parametrize("era", ERAS)
async def test_over_http_an_agents_critical_call_needs_an_approver(era: str, tmp_path: Path) -> None:
    (tmp_path / "plain.yaml").write_text("tools: {delete_order: {side_effect: destructive}}\n")
    person = Bypass()
    files = {"contracts": [str(tmp_path / "plain.yaml")]}
    async with shop_gateway(tmp_path, **files) as (url, gateway_app, shop), client_of(url, era, person) as client:
        listed = next(one for one in (await client.list_tools()).tools if one.name == "delete_order")
        result = await client.call_tool("delete_order", {"order_id": "o-1"})
        approval = (await gateway_app.store.approvals())[0]
    assert (shop.effects, person.asked, approval.by, approval.decisions) == ([], [], "approver", ())
    assert "a person with the role approver" in problem(result)["remedy"]
    assert listed.meta is not None
    assert listed.meta["dev.assent/contract"]["confirmation"] == "approver"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("asks", "questions", "effects"), [("person", 1, 1), (None, 1, 0), ("nobody", 0, 0)])
async def test_the_operator_says_whether_a_key_asks_a_person(
    era: str, asks: str | None, questions: int, effects: int, tmp_path: Path
) -> None:
    caller = {"kind": "agent", "scopes": ["*"], **({"asks": asks} if asks else {})}
    more = {"auth": {"anonymous": caller}, "defaults": {"confirmation": {"critical": "user"}}}
    (tmp_path / "plain.yaml").write_text("tools: {delete_order: {side_effect: destructive}}\n")
    person = Bypass()
    files = {"contracts": [str(tmp_path / "plain.yaml")]}
    async with shop_gateway(tmp_path, **more, **files) as (url, _, shop), client_of(url, era, person) as client:
        await client.call_tool("delete_order", {"order_id": "o-1"})
    assert (len(person.asked), len(shop.effects)) == (questions, effects)


async def decided(tmp_path: Path) -> tuple[Approval, str, str]:
    """An approval that a client decided, with what the console and the feed say of it."""
    async with shop_gateway(tmp_path, auth=ANYBODY) as (url, gateway_app, _):
        async with client_of(url, "legacy", Bypass()) as client:
            await client.call_tool("place_order", {"item": "tea"})
        approval = (await gateway_app.store.approvals())[0]
        async with signed_in(url, gateway_app.store) as browser:
            page = (await browser.get(f"/console/approvals/{approval.id}")).text
            feed = (await browser.get("/console/activity")).text
    return approval, page, feed


async def test_a_yes_of_the_client_is_shown_as_the_clients_with_its_time(tmp_path: Path) -> None:
    """Where the contract says that the user confirms, the client's answer counts, but not as a person's."""
    approval, page, feed = await decided(tmp_path)
    said = approval.decisions[0]
    assert said.verdict == "approve" and said.seconds is not None
    words = f"the client eager-cli after {said.seconds:.2f} s"
    assert f"Answered by {words}" in page
    assert f"Approved by {words}: place order" in feed
    (tmp_path / "assent.yaml").write_text(f"store: sqlite:///{tmp_path}/assent.db\n")
    command = ["approvals", "show", approval.id, "-c", str(tmp_path / "assent.yaml")]
    shown = await asyncio.to_thread(CliRunner().invoke, cli, command)
    assert f"answered by {words}: approve" in shown.output
    assert approval_as_json(approval, 0.0)["decisions"][0]["decider"] == words


async def test_a_client_cannot_name_itself_like_a_person() -> None:
    world = World({"publish": {"side_effect": "write", "confirmation": {"by": "user"}}})
    asked = await world.call("publish", {}, by=UNKNOWN, can_ask=True)
    assert isinstance(asked, Pause)
    reply = UserAnswer(asked.approval.id, "accept", 1.0, "ann\u202e, an operator")
    await world.call("publish", {}, by=UNKNOWN, reply=reply, can_ask=True)
    approval = await world.store.approval(asked.approval.id)
    assert approval is not None
    assert decider_of(approval.decisions[0]) == "the client ann\\u{202e}, an operator after 1.00 s"


@pytest.mark.parametrize("era", ERAS)
async def test_eight_equal_calls_with_one_key_ask_once(era: str, tmp_path: Path) -> None:
    opened = asyncio.Event()

    class Slow(Bypass):
        async def __call__(self, context: Any, params: Any) -> types.ElicitResult:
            self.asked.append(params.message)
            await opened.wait()
            return types.ElicitResult(action="accept", content={})

    person = Slow()
    async with shop_gateway(tmp_path) as (url, gateway_app, shop), client_of(url, era, person) as client:
        await client.list_tools()
        key = {"dev.assent/idempotencyKey": "k-1"}
        calls = [asyncio.ensure_future(client.call_tool("place_order", {"item": "tea"}, meta=key)) for _ in range(8)]
        while (await gateway_app.store.length()) < 9:  # noqa: ASYNC110 - the question, and the pause of each call
            await asyncio.sleep(0.01)
        opened.set()
        results = await asyncio.gather(*calls)
    assert (len(person.asked), shop.effects) == (1, ["tea"])
    assert {str(one.structured_content) for one in results} == {"{'order': 1}"}


async def test_a_closed_question_says_where_it_can_be_decided(tmp_path: Path) -> None:
    class Headless(Bypass):
        async def __call__(self, context: Any, params: Any) -> types.ElicitResult:
            return types.ElicitResult(action="cancel")

    async with shop_gateway(tmp_path) as (url, gateway_app, _), client_of(url, "legacy", Headless()) as client:
        result = await client.call_tool("place_order", {"item": "tea"})
        approval = (await gateway_app.store.approvals())[0]
    said = problem(result)
    text = result.content[0]
    assert isinstance(text, types.TextContent)
    assert (said["code"], said["approval"]) == ("confirm.cancelled", approval.id)
    assert text.text.startswith("The question was closed without an answer. This call waits for a person's approval.")
    for part in (said["approval_url"], f"assent approvals approve {approval.id}"):
        assert part in text.text


async def test_a_fast_yes_over_standard_streams_does_not_count_either(tmp_path: Path) -> None:
    """A server of the library has no approver by default, so the speed is all that speaks against the yes."""
    caller = Principal("stdio", "agent", scopes=frozenset({"*"}))
    assent = Assent(stdio=caller)
    server = MCPServer("wipes", extensions=[assent.extension()], log_level="ERROR")
    ran: list[int] = []

    @server.tool()
    @contract(side_effect="destructive")
    def wipe() -> dict[str, bool]:
        """Wipes everything."""
        ran.append(1)
        return {"wiped": True}

    assent.apply(server)
    person = Bypass()
    async with client_of(server, "legacy", person) as client:
        result = await client.call_tool("wipe", {})
    await assent.close()
    assert (ran, len(person.asked), problem(result)["code"]) == ([], 1, "confirm.approval_pending")


@pytest.mark.parametrize("era", ERAS)
async def test_a_fast_yes_behind_wrap_waits_for_the_command_line(era: str, tmp_path: Path) -> None:
    """As agent command lines in bypass mode do it, within milliseconds and for a tool without a contract."""
    command = [*ASSENT[1:], "wrap", "--", sys.executable, ODD]
    server = StdioServerParameters(command=ASSENT[0], args=command, env=home(tmp_path, "mode: enforce\n"))
    person = Bypass()
    async with client_of(server, era, person) as client:
        result = await client.call_tool("delete_thing", {})
        again = await client.call_tool("delete_thing", {})
    assert len(person.asked) == 1
    for one in (result, again):
        assert problem(one)["code"] == "confirm.approval_pending"
        assert f"assent approvals approve {problem(one)['approval']}" in problem(one)["remedy"]
