"""The same policies in `assent wrap`, in servers of the official SDK and in FastMCP servers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client as FastMCPClient
from fastmcp import FastMCP
from mcp import Client
from mcp.server import MCPServer
from mcp.shared.exceptions import MCPError

from assent import Assent, contract
from assent.core.problems import problem_in
from assent.errors import SettingsError
from assent.fastmcp import Assent as FastMCPAssent
from support.clients.transports import ROOT
from support.gateway.wrap_process import home, running

RULES = """
@id("no-erasing") forbid (principal is Assent::Agent, action in Assent::Action::"destructive", resource);
@id("short-notes") forbid (principal, action == Assent::Action::"write_note", resource)
when { context.input.text like "*secret*" };
@id("no-books") forbid (principal, action == Assent::Action::"resources/read", resource)
when { resource.uri like "*://books/*" };
@id("no-greeting") forbid (principal, action == Assent::Action::"prompts/get", resource == Assent::Prompt::"greet");
"""


def write_rules(folder: Path, text: str = RULES) -> str:
    (folder / "rules.cedar").write_text(text)
    return str(folder / "rules.cedar")


def fill(server: Any) -> Any:
    @server.tool()
    @contract(side_effect="write", confirmation={"by": "none"})
    def write_note(text: str) -> str:
        return text

    @server.tool()
    @contract(side_effect="destructive", confirmation={"by": "none", "because": "a test"}, risk="medium")
    def erase() -> str:
        return "gone"

    server.resource("lib://books/1", name="one")(lambda: "book")
    server.resource("lib://motto", name="motto")(lambda: "motto")
    server.prompt("greet")(greet)
    return server


def greet(who: str) -> str:
    return f"hello {who}"


async def test_a_server_of_the_sdk_lists_and_runs_what_policies_allow(tmp_path: Path) -> None:
    assent = Assent(policies=[write_rules(tmp_path)])
    server = fill(MCPServer("lib", extensions=[assent.extension()], log_level="ERROR"))
    assent.apply(server)
    async with Client(server) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["write_note"]
        refused = await client.call_tool("write_note", {"text": "a secret"})
        problem = problem_in(refused.model_dump(by_alias=True))
        assert problem is not None
        assert problem["policy"] == "short-notes"
        assert (await client.call_tool("write_note", {"text": "a note"})).is_error is False
        assert [str(one.uri) for one in (await client.list_resources()).resources] == ["lib://motto"]
        with pytest.raises(MCPError, match="policy"):
            await client.read_resource("lib://books/1")
        with pytest.raises(MCPError, match="policy"):
            await client.get_prompt("greet", {"who": "x"})
        assert (await client.list_prompts()).prompts == []
    await assent.close()


async def test_a_fastmcp_server_lists_and_runs_what_policies_allow(tmp_path: Path) -> None:
    assent = FastMCPAssent(policies=write_rules(tmp_path))
    server = fill(FastMCP("lib"))
    assent.apply(server)
    async with FastMCPClient(server) as client:
        assert [tool.name for tool in await client.list_tools()] == ["write_note"]
        refused = await client.call_tool("erase", {}, raise_on_error=False)
        assert refused.is_error
        assert [str(one.uri) for one in await client.list_resources()] == ["lib://motto"]
        with pytest.raises(Exception, match="policy"):
            await client.read_resource("lib://books/1")
        assert await client.list_prompts() == []
        with pytest.raises(Exception, match="policy"):
            await client.get_prompt("greet", {"who": "x"})
    await assent.close()


def test_a_policy_that_does_not_fit_stops_the_start_of_a_server(tmp_path: Path) -> None:
    rules = write_rules(
        tmp_path,
        'forbid (principal, action == Assent::Action::"write_note", resource) when {\n context.input.txt == "x" };',
    )
    assent = Assent(policies=[rules])
    server = fill(MCPServer("lib", extensions=[assent.extension()], log_level="ERROR"))
    with pytest.raises(SettingsError, match=r"rules.cedar:2: .*input.txt"):
        assent.apply(server)


async def test_wrap_lists_and_runs_what_policies_allow(tmp_path: Path) -> None:
    rules = write_rules(
        tmp_path,
        RULES.replace('"write_note"', '"find_words"').replace(
            'context.input.text like "*secret*"', 'context.mode == "live"'
        ),
    )
    environment = home(tmp_path, f"mode: enforce\npolicies: ['{rules}']\n")
    server = str(ROOT / "tests" / "support" / "servers" / "library_server.py")
    async with running(environment, sys.executable, server, "alpha", "handshake") as wrap:
        await wrap.greet()

        async def ask(number: int, method: str, **params: Any) -> Any:
            await wrap.say(method, number, **params)
            while (heard := await wrap.hear()).get("id") != number:
                assert heard
            return heard

        tools = [tool["name"] for tool in (await ask(1, "tools/list"))["result"]["tools"]]
        assert "find_words" not in tools
        assert "get_news" in tools
        refused = problem_in((await ask(2, "tools/call", name="find_words", arguments={}))["result"])
        assert refused is not None
        assert refused["policy"] == "short-notes"
        listed = [one["uri"] for one in (await ask(3, "resources/list"))["result"]["resources"]]
        assert listed == ["shared://motto"]
        for number, (method, params) in enumerate(
            [
                ("resources/read", {"uri": "alpha://books/1"}),
                ("resources/subscribe", {"uri": "alpha://books/1"}),
                ("prompts/get", {"name": "greet", "arguments": {"who": "x"}}),
            ],
            4,
        ):
            answer = await ask(number, method, **params)
            assert answer["error"]["data"]["code"] == "guard.policy_denied", answer
        assert (await ask(9, "resources/read", uri="shared://motto"))["result"]["contents"]
