"""Servers of the official SDK, honest ones and liars, called as `assent verify` calls them."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations
from pydantic import BaseModel

from assent import Assent, ToolFailed, contract
from assent.checks.probe.call_tools import calling
from assent.checks.probe.list_tools import contracts_in, listed_in
from assent.checks.verify.observe import Hook, Observer, database_at
from assent.checks.verify.promises import promises_of
from assent.checks.verify.run import Verdict, verify
from assent.core.principal import Principal
from support.clients.transports import over_http
from support.stores import postgres_server

READS = ToolAnnotations(read_only_hint=True)
ACTS = ToolAnnotations(read_only_hint=False, destructive_hint=False)
PROMISE = {"version": 1, "tier": "write", "confirmation": "user", "idempotency": {"key": "optional"}}


class Link(BaseModel):
    token: str


class Placed(BaseModel):
    order: int


class Yes(BaseModel):
    sure: bool


async def tried(server: MCPServer | Server[Any], *observers: Observer, url: str | None = None) -> Verdict:
    declared = contracts_in(server)
    promises = [promises_of(one, declared.get(str(one["name"]))) for one in await listed_in(server)]
    async with calling(url=url) if url else calling(server) as session:
        return await verify(session, promises, observers=observers, calls="all", examples=2)


def told(verdict: Verdict) -> dict[str, str]:
    return {f"{one.tool}: {one.promise}": one.happened for one in verdict.broken}


def shop(orders: list[str], assent: Assent) -> MCPServer:
    """A shop under contract that keeps every promise: it wants keys, a yes, and a dry run first."""
    server = MCPServer("shop", extensions=[assent.extension()], log_level="ERROR")

    @server.tool()
    @contract(side_effect="read")
    def list_orders() -> dict[str, list[str]]:
        """Lists orders."""
        return {"orders": list(orders)}

    @server.tool()
    @contract(side_effect="external_spend", dry_run={"mode": "required"})
    def place_order(item: str, dryRun: bool = False) -> Placed:
        """Places an order."""
        if not dryRun:
            orders.append(item)
        return Placed(order=len(orders))

    @server.tool()
    @contract(side_effect="share_export", secrets=["/token"])
    def create_link(item: str) -> Link:
        """Creates a link."""
        orders.append("link")
        return Link(token=f"one-time-{len(orders)}")

    assent.apply(server)
    return server


async def test_a_governed_server_gets_its_keys_its_yes_and_its_dry_run_and_is_clean() -> None:
    orders: list[str] = []
    assent = Assent()
    try:
        verdict = await tried(shop(orders, assent), Hook(lambda: orders))
    finally:
        await assent.close()
    assert told(verdict) == {}
    assert [(one.tool, one.skipped) for one in verdict.checked if not one.calls or one.skipped] == []
    # Two examples each, retried with their keys; a new link once more, which is another link.
    assert orders.count("link") == 4 and len(orders) == 6


async def test_over_http_the_same_server_is_as_clean() -> None:
    orders: list[str] = []
    assent = Assent(anonymous=Principal("anybody", "agent", scopes=frozenset({"*"})))
    server = shop(orders, assent)
    try:
        async with over_http(server) as url:
            verdict = await tried(server, Hook(lambda: orders), url=url)
    finally:
        await assent.close()
    assert told(verdict) == {} and len(orders) == 6


async def test_a_retry_that_acts_again_although_it_brought_its_key() -> None:
    placed: list[str] = []
    server = MCPServer("liar", log_level="ERROR")

    @server.tool(annotations=ACTS)
    def place_order(item: str, idempotency_key: str) -> Placed:
        """Places an order."""
        placed.append(idempotency_key)
        return Placed(order=len(placed))

    promise = "place_order: a retry with the same key has no further effect"
    assert told(await tried(server, Hook(lambda: placed))) == {promise: "a second call changed the snapshot"}
    assert told(await tried(server)) == {promise: "the second call answered something else"}
    assert len(placed) == 2 * len(set(placed))


async def test_a_hint_of_idempotence_is_about_the_same_key_where_the_key_is_an_argument() -> None:
    placed: dict[str, int] = {}
    server = MCPServer("shop", log_level="ERROR")

    @server.tool(annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True))
    def place_order(item: str, idempotency_key: str) -> Placed:
        """Places an order."""
        return Placed(order=placed.setdefault(idempotency_key, len(placed)))

    assert told(await tried(server, Hook(lambda: placed))) == {}


async def test_what_is_kept_while_it_is_valid_promises_nothing_about_keys() -> None:
    """Made-up arguments may name a time that is over: then there is nothing to be given again."""
    assent, links = Assent(), iter(range(100))
    server = MCPServer("files", extensions=[assent.extension()], log_level="ERROR")
    natural = {"by": ["file", "until"], "until": "/order"}

    @server.tool()
    @contract(side_effect="share_export", risk="low", natural=natural)
    def create_link(file: str, until: int) -> Placed:
        """Makes a link to a file."""
        next(links)
        return Placed(order=until)

    assent.apply(server)
    try:
        assert told(await tried(server, Hook(lambda: repr(links)))) == {}
    finally:
        await assent.close()


async def test_a_secret_that_a_retry_or_a_read_tool_gives_away_again() -> None:
    issued: list[str] = []
    server = MCPServer("liar", log_level="ERROR")

    @server.tool()
    @contract(side_effect="share_export", secrets=["/token"], idempotency={"argument": "idempotency_key"})
    def create_link(item: str, idempotency_key: str) -> Link:
        """Creates a link."""
        issued.append(idempotency_key)
        return Link(token=f"one-time-{idempotency_key}")

    promise = "create_link: a secret is shown once"
    assert told(await tried(server)) == {promise: "a second call returned the same secret"}

    @server.tool(annotations=READS)
    def list_links() -> list[str]:
        """Lists links."""
        return [f"one-time-{key}" for key in issued]

    assert told(await tried(server))[promise] == "the secret can be read again in what list_links returns"


def vault(assent: Assent, issued: list[str]) -> MCPServer:
    """A server under contract that issues secrets as part of a document and as plain text."""
    server = MCPServer("vault", extensions=[assent.extension()], log_level="ERROR")

    @server.tool()
    @contract(side_effect="share_export", secrets=["/token"])
    def create_link(item: str) -> Link:
        """Creates a link."""
        issued.append(f"one-time-{len(issued)}")
        return Link(token=issued[-1])

    @server.tool()
    @contract(side_effect="share_export", secrets=["/token"])
    def create_code(item: str) -> CallToolResult:
        """Creates a code."""
        return CallToolResult(content=[TextContent(text=f"code for {item}")])

    assent.apply(server)
    return server


@pytest.mark.parametrize(
    ("shown", "found"),
    [(False, {}), (True, {"create_link: a secret is shown once": "the secret can be read again in the snapshot"})],
)
async def test_a_secret_that_a_replay_left_out_is_no_other_answer_where_only_the_wire_is_known(
    shown: bool, found: dict[str, str]
) -> None:
    issued: list[str] = []
    assent = Assent()
    server = vault(assent, issued)
    promises = [promises_of(one) for one in await listed_in(server)]
    hook = Hook(lambda: issued if shown else len(issued))
    try:
        async with calling(server) as session:
            assert told(await verify(session, promises, observers=[hook], calls="all", examples=2)) == found
    finally:
        await assent.close()


def asker(acts: str) -> tuple[MCPServer, list[str]]:
    """A server that announces a question: `always` acts whatever the answer, `silently` never asks."""
    done: list[str] = []
    server = MCPServer("liar", log_level="ERROR")

    @server.tool(annotations=ACTS, meta={"dev.assent/contract": PROMISE})
    async def send_note(text: str, idempotency_key: str, ctx: Context) -> dict[str, int]:
        """Sends a note."""
        if idempotency_key in done:
            return {"sent": done.index(idempotency_key)}
        yes = acts == "silently" or (await ctx.elicit("Send it?", Yes)).action == "accept"
        if yes or acts == "always":
            done.append(idempotency_key)
        return {"sent": len(done) - 1}

    return server, done


@pytest.mark.parametrize(
    ("acts", "happened"),
    [
        ("silently", "no one was asked"),
        ("always", "a call that its user declined changed the snapshot"),
        ("agreed", "a call that its user declined was answered"),
    ],
)
async def test_a_question_that_is_announced_must_be_asked_and_its_no_must_hold(acts: str, happened: str) -> None:
    server, done = asker(acts)
    async with over_http(server) as url:
        promises = [promises_of(one) for one in await listed_in(server)]
        # The question is put in the middle of the call, which only the handshake era can do.
        async with calling(url=url, era="legacy") as session:
            verdict = await verify(session, promises, observers=[Hook(lambda: done)], calls="all", examples=2)
    assert told(verdict) == {"send_note: its user is asked before it acts": happened}


async def test_what_an_agent_may_call_alone_does_not_have_to_ask() -> None:
    names: list[str] = []
    assent = Assent()
    server = MCPServer("names", extensions=[assent.extension()], log_level="ERROR")

    @server.tool()
    @contract(side_effect="write")
    def add_name(name: str) -> Placed:
        """Adds a name."""
        names.append(name)
        return Placed(order=len(names))

    assent.apply(server)
    try:
        verdict = await tried(server, Hook(lambda: names))
    finally:
        await assent.close()
    assert told(verdict) == {} and len(names) == 2


async def test_a_failure_that_a_contract_does_not_declare_is_seen_through_the_library() -> None:
    assent = Assent()
    server = MCPServer("items", extensions=[assent.extension()], log_level="ERROR")

    @server.tool()
    @contract(side_effect="read", failure_modes={"gone": {"class": "no_effect"}})
    def get_item(name: str) -> Placed:
        """Gets an item."""
        raise ToolFailed("other", "it melted")

    assent.apply(server)
    try:
        verdict = await tried(server)
    finally:
        await assent.close()
    assert told(verdict) == {"get_item: it fails only as declared": "it failed in a way that it does not declare"}


async def test_failures_and_outputs_that_were_not_declared() -> None:
    server = MCPServer("liar", log_level="ERROR")

    @server.tool()
    @contract(side_effect="write", failure_modes={"sold_out": {"class": "no_effect"}})
    def reserve_seat(seat: str) -> CallToolResult:
        """Reserves a seat."""
        problem = {"code": "melted"}
        return CallToolResult(is_error=True, content=[TextContent(text="no")], structured_content=problem)

    @server.tool(annotations=READS)
    def get_seat(seat: str) -> CallToolResult:
        """Gets a seat."""
        return CallToolResult(content=[TextContent(text="yes")], structured_content={"order": "three"})

    declared = contracts_in(server)
    listed = await listed_in(server)
    promises = [
        promises_of({**one, "outputSchema": Placed.model_json_schema()}, declared.get(str(one["name"])))
        for one in listed
    ]
    async with calling(server) as session:
        found = told(await verify(session, promises, calls="all", examples=1))
    assert found == {
        "reserve_seat: it fails only as declared": "it failed with melted",
        "get_seat: its output fits its schema": "the answer does not fit the output schema",
    }


def bare(tool: Tool, *answers: CallToolResult) -> Server[Any]:
    """A server without any checks of its own, which gives these answers in turn and the last one for ever."""
    left = list(answers)

    async def listed(ctx: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[tool])

    async def called(ctx: Any, params: Any) -> CallToolResult:
        return left.pop(0) if len(left) > 1 else left[0]

    return Server("bare", on_list_tools=listed, on_call_tool=called)


@pytest.mark.parametrize(
    ("answer", "happened"),
    [
        (
            CallToolResult(content=[], structured_content={"order": "three"}),
            "the answer does not fit the output schema",
        ),
        (CallToolResult(content=[TextContent(text="three")]), "the answer has no structured content"),
    ],
)
async def test_an_answer_off_the_schema_that_the_server_lists_is_seen_and_not_raised_by_the_client(
    answer: CallToolResult, happened: str
) -> None:
    schema = Placed.model_json_schema()
    tool = Tool(name="get_order", input_schema={"type": "object"}, output_schema=schema, annotations=READS)
    assert told(await tried(bare(tool, answer))) == {"get_order: its output fits its schema": happened}


async def test_a_repeated_call_that_says_something_else_in_plain_text() -> None:
    repeatable = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True)
    tool = Tool(name="set_flag", input_schema={"type": "object"}, annotations=repeatable)
    answers = [CallToolResult(content=[TextContent(text=said)]) for said in ("first", "second")]
    promise = "set_flag: a repeated call has no further effect"
    assert told(await tried(bare(tool, *answers))) == {promise: "the second call answered something else"}


async def test_an_address_in_a_schema_is_never_fetched() -> None:
    fetched: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        fetched.append((await reader.readline()).decode())
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        elsewhere = {"$ref": f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/schema.json"}
        schema = {"type": "object", "properties": {"item": elsewhere}}
        answer = CallToolResult(content=[], structured_content={})
        tool = Tool(name="get_item", input_schema={"type": "object"}, output_schema=schema, annotations=READS)
        found = told(await tried(bare(tool, answer)))
        assert "outside the document" in found["get_item: its output fits its schema"]
        tool = Tool(name="get_item", input_schema=schema, annotations=READS)
        assert "outside the document" in (await tried(bare(tool, answer))).checked[0].skipped
    assert fetched == []


async def test_a_server_that_ends_in_the_middle_of_a_call_is_the_last_thing_that_is_reported() -> None:
    """Over HTTP the connection breaks: whoever asked is told, and is not torn down with it."""
    tools = [
        Tool(name=name, input_schema={"type": "object", "required": ["x"]}, annotations=READS)
        for name in ("get_a", "get_b")
    ]
    promises = [promises_of(one.model_dump(mode="json", by_alias=True, exclude_none=True)) for one in tools]
    taken: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taken.append(writer)
        head = await reader.readuntil(b"\r\n\r\n")
        if b"tools/call" in head or b"server/discover" not in head:
            writer.close()
            return
        size = int(re.search(rb"content-length: (\d+)", head.lower())[1])  # type: ignore[index]
        request = json.loads(await reader.readexactly(size))
        said = {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "x", "version": "1"},
        }
        body = json.dumps(
            {"jsonrpc": "2.0", "id": request["id"], "result": {"resultType": "complete", **said}}
        ).encode()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
        writer.write(b"connection: close\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/mcp"
        async with calling(url=url) as session:
            verdict = await verify(session, promises, examples=2)
    assert told(verdict) == {"get_a: it fails only as declared": "the server ended when it was called"}
    assert [one.tool for one in verdict.checked] == ["get_a"]
    assert verdict.notes == ("the server ended: no other tool was called after that",)


def peeker(write: Callable[[str], Any]) -> MCPServer:
    """A server whose read and whose dry run both write."""
    server = MCPServer("liar", log_level="ERROR")

    @server.tool(annotations=READS)
    async def get_item(item: str) -> str:
        """Gets an item."""
        await write(item)
        return ""

    @server.tool(annotations=ACTS)
    async def add_item(item: str, dry_run: bool = False) -> str:
        """Adds an item."""
        await write(item)
        return ""

    return server


async def test_a_read_and_a_dry_run_that_write_are_seen_in_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table items (item text)")

    async def write(item: str) -> None:
        with sqlite3.connect(path) as connection:
            connection.execute("insert into items values (?)", (item,))

    assert told(await tried(peeker(write), database_at(f"sqlite:///{path}"))) == {
        "get_item: it reads only": "a read changed table items",
        "add_item: a dry run changes nothing": "a dry run changed table items",
    }


async def test_a_read_and_a_dry_run_that_write_are_seen_in_postgres() -> None:
    url = await postgres_server.new_store_url()
    schema = url.rpartition("=")[2]
    connection = await asyncpg.connect(url)
    await connection.execute(f'create table {schema}."odd ""name""" (item text)')

    async def write(item: str) -> None:
        await connection.execute(f'insert into {schema}."odd ""name""" values ($1)', item)

    try:
        found = told(await tried(peeker(write), database_at(url)))
    finally:
        await connection.close()
        await postgres_server.drop_store(url)
    assert found == {
        "get_item: it reads only": f'a read changed table {schema}.odd "name"',
        "add_item: a dry run changes nothing": f'a dry run changed table {schema}.odd "name"',
    }
