"""Clients at which nobody sits: no critical call runs on their own yes. A person who signs in at the console counts."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from click.testing import CliRunner
from mcp import Client, StdioServerParameters
from mcp.server.mcpserver import MCPServer

from assent import Assent, contract
from assent.cli import cli
from assent.core.approval import ApprovalState
from assent.core.principal import Principal
from assent.hooks.calls import HookSource
from assent.pipeline.client_answer import KNOWN_CLIENTS
from assent.testing import World
from support.agents.hook_events import Agent
from support.clients.transports import ROOT
from support.console.plain_browser import Browser, signed_in
from support.decisions.problems import problem
from support.gateway.gateways import shop_gateway
from support.gateway.wrap_process import ASSENT, home

ERAS = ["legacy", "2026-07-28"]
ODD = str(ROOT / "tests" / "support" / "servers" / "odd_server.py")


class Script:
    """A client that gives one fixed answer, some seconds after each question by the server's clock."""

    def __init__(self, action: Any, wait: Callable[[], None] = lambda: None) -> None:
        self.asked: list[Any] = []
        self._action, self._wait = action, wait

    async def __call__(self, context: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params)
        self._wait()
        return types.ElicitResult(action=self._action, content={} if self._action == "accept" else None)


def client_of(where: Any, era: str, person: Any, name: str = "some-sdk-client") -> Client:
    info = types.Implementation(name=name, version="1")
    return Client(where, mode=era, elicitation_callback=person, client_info=info)


def wiper(clock: Callable[[], float], asks: Any = None, **fields: Any) -> tuple[MCPServer, Assent, list[int]]:
    """A server with one critical tool, and what it wiped."""
    wiped: list[int] = []
    assent = Assent(now=clock, stdio=Principal("agent", "agent", scopes=frozenset({"*"}), asks=asks))
    server = MCPServer("wiper", extensions=[assent.extension()], log_level="ERROR")

    @server.tool()
    @contract(side_effect="destructive", **fields)
    def wipe() -> dict[str, bool]:
        """Wipes everything."""
        wiped.append(1)
        return {"wiped": True}

    assent.apply(server)
    return server, assent, wiped


MODES: dict[str, tuple[Any, float, str]] = {
    "accepts at once": ("accept", 0.015, "some-sdk-client"),
    "accepts after half a minute and is known by name": ("accept", 30.0, "codex-mcp-client"),
    "cancels": ("cancel", 0.0, "some-sdk-client"),
    "declines at once and is known by name": ("decline", 0.0, "claude-code"),
    "cannot ask": (None, 0.0, "some-sdk-client"),
}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("mode", MODES)
async def test_no_critical_call_runs_on_the_clients_own_yes(mode: str, era: str) -> None:
    action, seconds, name = MODES[mode]
    clock = World({}).clock
    server, assent, wiped = wiper(clock)
    script = Script(action, lambda: clock.advance(seconds)) if action else None
    async with client_of(server, era, script, name) as client:
        results = [await client.call_tool("wipe", {}) for _ in range(3)]
        approval = (await assent.store.approvals())[0]
    await assent.close()
    assert wiped == []
    assert approval.state_at(clock()) is ApprovalState.PENDING, "a person can still decide"
    for result in results:
        said = problem(result)
        assert said["code"] in ("confirm.approval_pending", "confirm.cancelled")
        assert (said["approval"], "waits for a person's approval" in said["detail"]) == (approval.id, True)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "accepts after half a minute and is known by name"])
async def test_behind_wrap_the_waiting_text_names_the_id_and_the_command(mode: str, era: str, tmp_path: Path) -> None:
    """As agent command lines without a person do it, in front of a real process and for a tool without a contract."""
    action, _, name = MODES[mode]
    words = [*ASSENT[1:], "wrap", "--", sys.executable, ODD]
    server = StdioServerParameters(command=ASSENT[0], args=words, env=home(tmp_path, "mode: enforce\n"))
    async with client_of(server, era, Script(action) if action else None, name) as client:
        result = await client.call_tool("delete_thing", {})
        count = await client.call_tool("list_things", {})
    said, text = problem(result), result.content[0]
    assert isinstance(text, types.TextContent)
    assert f"assent approvals approve {said['approval']}" in text.text
    assert not count.is_error


@pytest.mark.parametrize(
    ("source", "mode"), [(HookSource(headless=True), "default"), (HookSource(), "bypassPermissions")]
)
async def test_a_hook_without_a_person_lets_no_critical_call_run(source: HookSource, mode: str) -> None:
    agent = Agent("mode: enforce\nauth: {stdio: {kind: agent, scopes: ['*'], asks: person}}")
    agent.source = source
    decision, reason = await agent.before("Bash", {"command": "rm -rf build"}, permission_mode=mode)
    assert decision == "deny"
    assert "assent approvals approve" in reason


@pytest.mark.parametrize("asks", [None, "person"])
async def test_a_known_client_needs_the_time_to_read_whatever_contract_and_operator_say(asks: Any) -> None:
    clock = World({}).clock
    server, assent, wiped = wiper(clock, asks, confirmation={"by": "user"})
    script = Script("accept", lambda: clock.advance(0.015))
    async with client_of(server, "legacy", script, "codex-mcp-client") as client:
        assert problem(await client.call_tool("wipe", {}))["code"] == "confirm.approval_pending"
    await assent.close()
    assert (wiped, len(script.asked)) == ([], 1 if asks else 0)


async def test_the_operators_word_lets_a_person_at_a_known_client_answer() -> None:
    clock = World({}).clock
    server, assent, wiped = wiper(clock, "person")
    async with client_of(server, "legacy", Script("accept", lambda: clock.advance(30)), "Codex-MCP-Client") as client:
        assert not (await client.call_tool("wipe", {})).is_error
    await assent.close()
    assert wiped == [1]


@pytest.mark.parametrize("name", KNOWN_CLIENTS)
async def test_a_known_client_may_answer_about_a_call_that_is_not_critical(name: str) -> None:
    clock = World({}).clock
    server, assent, wiped = wiper(clock, risk="high")
    async with client_of(server, "legacy", Script("accept", lambda: clock.advance(30)), name) as client:
        assert not (await client.call_tool("wipe", {})).is_error
    await assent.close()
    assert wiped == [1]


async def test_a_slow_decline_of_a_known_client_is_a_no() -> None:
    clock = World({}).clock
    server, assent, _ = wiper(clock, risk="high")
    async with client_of(server, "legacy", Script("decline", lambda: clock.advance(9)), "claude-code") as client:
        assert problem(await client.call_tool("wipe", {}))["code"] == "confirm.declined"
    await assent.close()


CRITICAL_BY_USER = {"defaults": {"confirmation": {"critical": "user"}}}


def plain(folder: Path) -> dict[str, Any]:
    (folder / "plain.yaml").write_text("tools: {delete_order: {side_effect: destructive}}\n")
    return {"contracts": [str(folder / "plain.yaml")], **CRITICAL_BY_USER}


@pytest.mark.parametrize("era", ERAS)
async def test_a_person_who_follows_the_link_and_signs_in_decides_and_is_named_everywhere(
    era: str, tmp_path: Path
) -> None:
    async with shop_gateway(tmp_path, **plain(tmp_path)) as (url, gateway_app, shop):
        async with signed_in(url, gateway_app.store) as ann:

            async def follow(context: Any, params: Any) -> types.ElicitResult:
                assert "delete or overwrite data" in params.message
                await decide(ann, params.url, "approve")
                return types.ElicitResult(action="accept")

            async with client_of(url, era, follow, "codex-mcp-client") as client:
                result = await client.call_tool("delete_order", {"order_id": "o-1"})
            feed = (await ann.get("/console/activity")).text
        decision = (await gateway_app.store.approvals())[0].decisions[0]
    assert (bool(result.is_error), shop.effects) == (False, ["delete o-1"])
    assert (decision.person, decision.channel, decision.client) == ("ann", "console", "")
    assert "Approved: delete order" in feed and "by the client" not in feed
    (tmp_path / "assent.yaml").write_text(
        f"store: sqlite:///{tmp_path}/assent.db\nsecrets: {{directory: {tmp_path}/keys}}\n"
    )
    words = ["audit", "report", "-c", str(tmp_path / "assent.yaml"), "--output", str(tmp_path / "report.html")]
    await asyncio.to_thread(CliRunner().invoke, cli, words)
    report = (tmp_path / "report.html").read_text("utf-8")
    assert "<td>ann</td>" in report and "client codex" not in report


async def decide(person: Browser, url: str, verdict: str) -> None:
    path = url[url.index("/console/") :]
    assert "delete_order" in (await person.get(path)).text
    assert (await person.send(f"{path}/{verdict}")).status_code == 303


@pytest.mark.parametrize("era", ERAS)
async def test_following_the_link_alone_decides_nothing(era: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("assent.gateway.connections.WITHIN", 0.05)
    script = Script("accept")
    async with shop_gateway(tmp_path, **plain(tmp_path)) as (url, _, shop):
        async with client_of(url, era, script, "claude-code") as client:
            result = await client.call_tool("delete_order", {"order_id": "o-1"})
    said = problem(result)
    assert (shop.effects, len(script.asked), said["code"]) == ([], 1, "confirm.approval_pending")
    assert script.asked[0].url == said["approval_url"]
    assert "link=" not in script.asked[0].url, "whoever shows the link cannot sign in with it"


@pytest.mark.parametrize("era", ERAS)
async def test_a_caller_of_whom_the_operator_says_nobody_gets_no_link(era: str, tmp_path: Path) -> None:
    script = Script("accept")
    who = {"auth": {"anonymous": {"kind": "agent", "scopes": ["*"], "asks": "nobody"}}}
    async with shop_gateway(tmp_path, **plain(tmp_path), **who) as (url, _, shop):
        async with client_of(url, era, script, "claude-code") as client:
            result = await client.call_tool("delete_order", {"order_id": "o-1"})
    assert (shop.effects, script.asked) == ([], [])
    assert problem(result)["approval_url"] in problem(result)["remedy"]
