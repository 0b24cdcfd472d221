"""A server of FastMCP keeps what its contracts promise, and nothing of FastMCP's gets round them."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

import httpx2
import mcp_types as types
import pytest
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.auth import StaticTokenVerifier
from fastmcp.server.middleware.caching import ResponseCachingMiddleware
from fastmcp.server.transforms import Transform
from fastmcp.tools.function_tool import FunctionTool
from mcp.shared.exceptions import MCPError

from assent.core.problems import problem_in
from assent.errors import ContractError
from assent.fastmcp import Assent, Principal, ToolFailed, contract
from support.clients.fastmcp_client import FastMCPClient
from support.clients.transports import ERAS, Person, over_http
from support.decisions.problems import problem

KEY = {"dev.assent/idempotencyKey": "k"}


def governed(*functions: Any, assent: Assent | None = None, **options: Any) -> FastMCP:
    server: FastMCP = FastMCP("shop", **options)
    for function in functions:
        server.add_tool(function)
    (assent or Assent()).apply(server)
    return server


@asynccontextmanager
async def client_of(target: Any, era: str = "auto", person: Person | None = None) -> AsyncIterator[FastMCPClient]:
    async with FastMCPClient(target, era, person) as client:
        yield client


async def code_of(client: FastMCPClient, tool: str, arguments: dict[str, Any], **more: Any) -> str:
    result = await client.call_tool(tool, arguments, **more)
    return str(problem_in(result.model_dump(by_alias=True)).get("code", ""))


@contract(side_effect="read")
def look(what: str = "") -> str:
    return f"saw {what}"


@pytest.mark.parametrize("tier", ["read", "write"])
async def test_a_tools_own_question_reaches_the_client_and_its_answer_the_tool(tier: str) -> None:
    seen: list[str] = []

    @contract(side_effect=tier)
    async def ask(ctx: Context) -> types.CallToolResult | types.InputRequiredResult:
        answers = ctx.input_responses or {}
        seen.append(str(ctx.request_state))
        if "colour" not in answers:
            form = types.ElicitRequestFormParams(
                message="Which?", requested_schema={"type": "object", "properties": {}}
            )
            return types.InputRequiredResult(
                input_requests={"colour": types.ElicitRequest(params=form)}, request_state="mine"
            )
        return types.CallToolResult(content=[types.TextContent(text=f"{answers['colour'].action}ed")])

    person = Person(["accept"])
    tool = FunctionTool.from_function(ask, output_schema=None)
    async with client_of(governed(tool), person=person) as client:
        result = await client.call_tool("ask", {})
    assert (person.asked, result.content[0].text, seen) == (["Which?"], "accepted", ["None", "mine"])


@pytest.mark.parametrize("era", ERAS)
async def test_the_ends_of_a_function_are_told_as_they_were(era: str) -> None:
    @contract(side_effect="write", failure_modes={"full": {"class": "no_effect", "status": 409}})
    def put(where: str) -> dict[str, str]:
        if where == "full":
            raise ToolFailed("full", "There is no room.")
        if where == "no":
            raise ToolError("Not there.")
        raise RuntimeError("after the effect")

    @contract(side_effect="write")
    def take(where: str) -> dict[str, str]:
        raise ToolError("Not there.")

    async with client_of(governed(put, take), era) as client:
        assert await code_of(client, "put", {"where": "full"}) == "full"
        undeclared = await client.call_tool("put", {"where": "no"})
        assert "Not there." not in undeclared.model_dump_json(), "failure modes are closed where they are declared"
        answered = await client.call_tool("take", {"where": "no"})
        assert (answered.is_error, answered.content[0].text) == (True, "Not there.")
        assert await code_of(client, "put", {"where": "dead"}, meta=KEY) == "execute.in_doubt"
        assert await code_of(client, "put", {"where": "dead"}, meta=KEY) == "recall.in_doubt"


async def test_a_generator_that_breaks_half_way_leaves_a_doubt() -> None:
    @contract(side_effect="write")
    def send(n: int) -> list[int]:
        yield 1  # type: ignore[misc]
        raise RuntimeError("after one")

    async with client_of(governed(FunctionTool.from_function(send, output_schema=None))) as client:
        assert await code_of(client, "send", {"n": 2}, meta=KEY) == "execute.in_doubt"


@pytest.mark.parametrize("era", ERAS)
async def test_a_protocol_error_of_a_read_is_its_authors_own(era: str) -> None:
    @contract(side_effect="read")
    def broken() -> str:
        raise MCPError(-31_999, "Come back tomorrow.", {"when": "tomorrow"})

    async with client_of(governed(broken), era) as client:
        with pytest.raises(MCPError) as error:
            await client.call_tool("broken", {})
    assert (error.value.code, error.value.message) == (-31_999, "Come back tomorrow.")


async def test_a_function_is_given_the_text_that_was_validated_and_not_json_read_out_of_it() -> None:
    given: list[Any] = []

    @contract(side_effect="write", selects=["ids"], bulk=2)
    def tag(ids: str | list[str]) -> dict[str, bool]:
        given.append(ids)
        return {"done": True}

    async with client_of(governed(tag)) as client:
        assert await code_of(client, "tag", {"ids": ["a", "b", "c"]}) == "confirm.approval_pending"
        await client.call_tool("tag", {"ids": '["a", "b"]'})
    assert given == ['["a", "b"]']


async def test_arguments_that_only_the_contract_offers_do_not_reach_the_function() -> None:
    @contract(side_effect="write", dry_run={"mode": "offered"}, idempotency={"argument": "k"})
    def put(where: str) -> dict[str, str]:
        return {"put": where}

    async with client_of(governed(put)) as client:
        result = await client.call_tool("put", {"where": "here", "k": "one", "dryRun": False})
        preview = await client.call_tool("put", {"where": "here", "dryRun": True})
    assert result.structured_content == {"put": "here"}
    assert preview.structured_content is not None
    assert preview.structured_content["simulated"] is True


async def test_what_the_function_refuses_is_named_without_its_value() -> None:
    @contract(side_effect="write", input={"type": "object"})
    def count(n: int) -> dict[str, int]:
        return {"n": n}

    async with client_of(governed(count)) as client:
        refused = await client.call_tool("count", {"n": "SECRET-VALUE"}, meta=KEY)
        assert problem(refused)["code"] == "validate.arguments_invalid"
        assert "SECRET-VALUE" not in refused.model_dump_json()
        assert await code_of(client, "count", {"n": 1}, meta=KEY) == "", "nothing ran, so the key is free"


async def test_what_a_function_calls_in_its_turn_is_its_own_doing() -> None:
    @contract(side_effect="destructive", confirmation={"by": "user"})
    def inner() -> dict[str, bool]:
        return {"wiped": True}

    @contract(side_effect="write")
    async def outer(ctx: Context) -> dict[str, Any]:
        return {"inner": (await ctx.fastmcp.call_tool("inner", {})).structured_content}

    person = Person()
    async with client_of(governed(inner, outer), person=person) as client:
        result = await client.call_tool("outer", {}, meta=KEY)
    assert result.structured_content == {"inner": {"wiped": True}}
    assert person.asked == []


async def test_a_call_that_no_request_brought_is_nobodys_and_is_refused() -> None:
    assent = Assent()
    server = governed(look, assent=assent)
    with pytest.raises(MCPError, match=r"(?i)authenticat|credential|who"):
        await server.call_tool("look", {})
    [logged] = await assent.store.entries()
    assert logged.entry.facts["code"] == "authenticate.missing"


async def test_a_tool_without_a_contract_is_neither_listed_nor_called() -> None:
    def bare() -> str:
        return "bare"

    async with client_of(governed(look, bare, assent=Assent(without_contract="withhold"))) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["look"]
        with pytest.raises(MCPError, match="Unknown tool: bare"):
            await client.call_tool("bare", {})


async def test_a_tool_of_a_mounted_server_is_not_under_contract_and_so_not_there() -> None:
    child: FastMCP = FastMCP("child")
    child.add_tool(look)
    server = governed(look)
    server.mount(child, namespace="child")
    async with client_of(server) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["look"]
        with pytest.raises(MCPError, match="Unknown tool: child_look"):
            await client.call_tool("child_look", {})


@pytest.mark.parametrize("era", ERAS)
async def test_a_governed_server_stays_governed_where_it_is_mounted(era: str) -> None:
    @contract(side_effect="destructive", confirmation={"by": "user"})
    def wipe(id: str) -> dict[str, str]:
        return {"wiped": id}

    def bare() -> str:
        return "bare"

    parent: FastMCP = FastMCP("parent")
    parent.mount(governed(wipe, bare, assent=Assent(without_contract="withhold")), namespace="shop")
    person = Person(["decline"])
    async with client_of(parent, era, person) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["shop_wipe"]
        assert await code_of(client, "shop_wipe", {"id": "1"}) == "confirm.declined"
        unknown = await client.call_tool("shop_bare", {})
    assert unknown.is_error
    assert len(person.asked) == 1


class _Swapped(Transform):
    """Puts another function under a name."""

    def __init__(self, other: FunctionTool) -> None:
        self._other = other

    async def get_tool(self, name: str, call_next: Any, *, version: Any = None) -> Any:
        return self._other if name == "look" else await call_next(name, version=version)


async def test_a_function_that_a_transform_puts_under_a_governed_name_does_not_run() -> None:
    ran: list[str] = []

    def other() -> str:
        ran.append("another")
        return "another"

    server = governed(look)
    server.add_transform(_Swapped(FunctionTool.from_function(other, name="look")))
    async with client_of(server) as client:
        refused = await client.call_tool("look", {})
    assert refused.is_error
    assert ran == []


async def test_a_function_registered_later_is_held_to_its_contract() -> None:
    server = governed(look)
    async with client_of(server) as client:

        @server.tool
        @contract(side_effect="compute")
        def work() -> dict[str, bool]:
            raise RuntimeError("after the effect")

        assert await code_of(client, "work", {}, meta=KEY) == "execute.in_doubt"
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert (listed["work"].meta or {})["dev.assent/contract"]["tier"] == "compute"


async def test_a_list_that_is_for_one_caller_is_never_cached_for_all() -> None:
    async with client_of(governed(look, cache_ttl=60, cache_scope="public")) as client:
        assert (await client.list_tools()).cache_scope == "private"


@pytest.mark.parametrize(
    ("options", "why"),
    [({"version": "2"}, "has a version"), ({"task": True}, "background task")],
)
def test_a_tool_that_would_run_past_its_contract_is_refused(options: dict[str, Any], why: str) -> None:
    @contract(side_effect="read")
    async def see() -> str:
        return ""

    try:
        tool = FunctionTool.from_function(see, **options)
    except ImportError:
        tool = FunctionTool.from_function(see)
        tool.task_config.mode = "optional"
    with pytest.raises(ContractError, match=why):
        governed(tool)


def test_a_server_that_caches_answers_is_refused() -> None:
    server: FastMCP = FastMCP("shop", middleware=[ResponseCachingMiddleware()])
    with pytest.raises(ContractError, match="caches responses"):
        Assent().apply(server)


@pytest.mark.parametrize("era", ERAS)
async def test_a_server_that_caches_answers_later_has_none_to_give(era: str) -> None:
    ran: list[str] = []

    @contract(side_effect="read")
    def see() -> str:
        ran.append("see")
        return "seen"

    server = governed(see)
    server.add_middleware(ResponseCachingMiddleware())
    async with client_of(server, era) as client:
        for _ in range(2):
            with pytest.raises(MCPError):
                await client.call_tool("see", {})
    assert ran == []


def test_without_fastmcp_its_edge_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastmcp", None)
    monkeypatch.delitem(sys.modules, "assent.fastmcp")
    with pytest.raises(ImportError, match=r"pip install 'assent\[fastmcp\]'"):
        import_module("assent.fastmcp")


def test_one_server_is_governed_by_one_assent() -> None:
    assent = Assent()
    server = governed(look, assent=assent)
    assent.apply(server)
    with pytest.raises(ValueError, match="Another Assent"):
        Assent().apply(server)
    with pytest.raises(ValueError, match="make another Assent"):
        assent.apply(FastMCP("other"))


async def test_a_caller_is_who_fastmcps_token_says() -> None:
    @contract(side_effect="read", permissions=["orders:read"])
    def orders() -> str:
        return "o-1"

    tokens = {
        "ann": {"client_id": "app", "sub": "ann", "scopes": ["orders:read"]},
        "bob": {"client_id": "app", "sub": "bob", "scopes": []},
    }
    assent = Assent()
    server = governed(look, orders, assent=assent, auth=StaticTokenVerifier(tokens))
    async with over_http(server) as url:
        for who, expected in (("ann", ["look", "orders"]), ("bob", ["look"])):
            async with FastMCPClient(url, "auto", None, auth=who) as client:
                assert sorted(tool.name for tool in (await client.list_tools()).tools) == expected
                result = await client.call_tool("look", {})
                assert not result.is_error
    principals = {logged.entry.values.get("principal") for logged in await assent.store.entries()}
    assert len(principals) == 2


async def test_a_stranger_over_http_is_refused_unless_strangers_are_named() -> None:
    async with over_http(governed(look)) as url:
        with pytest.raises(MCPError):
            async with FastMCPClient(url, "auto", None) as client:
                await client.call_tool("look", {})
    named = Assent(anonymous=Principal("guest", "agent"))
    async with over_http(governed(look, assent=named)) as url, FastMCPClient(url, "auto", None) as client:
        assert not (await client.call_tool("look", {})).is_error


async def test_a_key_in_the_header_is_the_key() -> None:
    placed: list[str] = []

    @contract(side_effect="write")
    def place(item: str) -> dict[str, int]:
        placed.append(item)
        return {"number": len(placed)}

    assent = Assent(anonymous=Principal("guest", "agent"))
    async with over_http(governed(place, assent=assent)) as url:
        said = [await _posted(url, "place", {"item": "x"}) for _ in range(2)]
    assert [one["result"]["structuredContent"] for one in said] == [{"number": 1}] * 2
    assert placed == ["x"]


async def _posted(url: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": tool,
        "idempotency-key": '"k-1"',
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    async with httpx2.AsyncClient(timeout=60) as client:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = await client.post(url, json=body, headers=headers)
    data = next((line[6:] for line in answer.text.splitlines() if line.startswith("data: {")), answer.text)
    return dict(json.loads(data))


async def test_why_no_price_can_be_given_is_passed_on_in_the_words_of_the_tool() -> None:
    @contract(side_effect="read")
    def quote(item: str) -> dict[str, int]:
        raise ToolFailed("unknown_item", f"No item {item}.") if item == "tea" else ToolError(f"No {item} today.")

    @contract(side_effect="external_spend", estimate={"tool": "quote", "amount": "/price"})
    def buy(item: str) -> str:
        return item

    async with client_of(governed(quote, buy)) as client:
        said = [problem(await client.call_tool("buy", {"item": item})) for item in ("milk", "tea")]
    assert [one["code"] for one in said] == ["rehearse.estimate_failed"] * 2
    assert 'said: "No milk today."' in said[0]["detail"]
    assert "No item" not in said[1]["detail"], "a failure that the contract does not declare is told to nobody"
