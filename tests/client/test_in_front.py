"""In front of an Assent gateway, a governed server and a plain one, an agent meets the same client."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import fastmcp
import pytest
from mcp import Client
from mcp.server import MCPServer

from assent import GovernedClient
from assent.client.terminal import leave_to_server
from assent.config.load import parse_settings
from assent.contract.yaml_document import write_yaml
from assent.gateway.app import GatewayApp, open_gateway
from assent.gateway.status_pages import StatusPages
from assent.pipeline.approve import approve
from assent.testing import ANN
from support.clients.person import Naps, Somebody
from support.clients.transports import ERAS, ROOT, over_http
from support.servers.loopback_server import serving

sys.path.insert(0, str(ROOT / "examples"))
from shop.server import build

FASTMCP = "fastmcp "
CONTRACTS = {
    "list_orders": {"side_effect": "read"},
    "estimate_order": {"side_effect": "read"},
    "place_order": {
        "side_effect": "external_spend",
        "confirmation": {"by": "user"},
        "estimate": {"tool": "estimate_order", "amount": "/price"},
    },
    "delete_order": {"side_effect": "destructive", "confirmation": {"by": "approver"}},
}


class Book:
    """An ordinary server and its own log of what happened."""

    def __init__(self) -> None:
        self.effects: list[str] = []
        self.server = MCPServer("shop", log_level="ERROR")

        @self.server.tool()
        def list_orders() -> dict[str, list[str]]:
            """Lists orders."""
            return {"orders": ["o-1"]}

        @self.server.tool()
        def estimate_order(item: str) -> dict[str, int]:
            """Says what an order would cost."""
            return {"price": 240}

        @self.server.tool()
        def place_order(item: str) -> dict[str, int]:
            """Places an order and charges the card."""
            self.effects.append(item)
            return {"order": len(self.effects)}

        @self.server.tool()
        def delete_order(order_id: str) -> dict[str, str]:
            """Deletes an order for good."""
            self.effects.append(f"delete {order_id}")
            return {"deleted": order_id}


@asynccontextmanager
async def gateway(folder: Path, upstream: str) -> AsyncIterator[tuple[str, GatewayApp]]:
    (folder / "contracts.yaml").write_text(write_yaml({"tools": CONTRACTS}))
    settings = {
        "store": f"sqlite:///{folder}/assent.db",
        "upstreams": {"shop": {"url": upstream}},
        "contracts": [str(folder / "contracts.yaml")],
        "auth": {"anonymous": {"kind": "agent", "scopes": ["*"]}},
        "secrets": {"directory": str(folder / "keys")},
    }
    gateway_app = await open_gateway(parse_settings(write_yaml(settings)))
    await gateway_app.start()
    try:
        async with serving(gateway_app.app(StatusPages(gateway_app))) as url:
            yield url, gateway_app
    finally:
        await gateway_app.stop()


def governed(url: str, era: str, person: Any, **options: Any) -> GovernedClient:
    options = {"name": "shop", "asker": person, "sleep": Naps(), **options}
    if era.startswith(FASTMCP):
        return GovernedClient(fastmcp.Client(url, mode=era.removeprefix(FASTMCP)), **options)

    def connect(**callbacks: Any) -> Client:
        return Client(url, mode=era, **callbacks)

    return GovernedClient(connect=connect, **options)


@pytest.fixture(params=[*ERAS, *(FASTMCP + era for era in ERAS)])
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def conversation(url: str, era: str, trusted: bool) -> tuple[list[Any], list[Any]]:
    """What an agent sees, and what the person is asked: a read, a charge agreed to, and one declined."""
    person = Somebody(True, False)
    async with governed(url, era, person, trusted=trusted) as client:
        calls = [("list_orders", {}), ("place_order", {"item": "a"}), ("place_order", {"item": "b"})]
        seen = [(await client.call_tool(*call)).structured_content for call in calls]
    return seen, [(question.tool, question.arguments, question.price, question.words) for question in person.asked]


async def test_a_gateway_and_a_plain_server_are_one_to_the_agent_and_to_the_person(era: str, tmp_path: Path) -> None:
    plain, behind = Book(), Book()
    async with over_http(plain.server) as url:
        told_plain = await conversation(url, era, trusted=False)
    async with over_http(behind.server) as upstream, gateway(tmp_path, upstream) as (url, _):
        told_governed = await conversation(url, era, trusted=True)
    assert told_plain == told_governed
    seen, asked = told_governed
    assert seen[1] == {"order": 1}
    assert seen[2]["code"] == "confirm.declined"
    assert asked == [("place_order", {"item": item}, "240", None) for item in ("a", "b")]
    assert plain.effects == behind.effects == ["a"]


SCENARIOS: dict[str, tuple[list[tuple[str, dict[str, Any]]], list[Any]]] = {
    "reads are free": ([("list_orders", {}), ("estimate_order", {"item": "a"})], []),
    "there is no such tool": ([("list_ordres", {})], []),
    "a charge is agreed to": ([("place_order", {"item": "a"})], [True]),
    "a charge is declined, and again": ([("place_order", {"item": "a"}), ("place_order", {"item": "a"})], [False]),
    "a question is closed, then agreed to": ([("place_order", {"item": "a"})] * 2, [None, True]),
    "a deletion is declined": ([("delete_order", {"order_id": "o-1"})], ["decline"]),
    "a deletion is not answered": ([("delete_order", {"order_id": "o-1"})], ["cancel"]),
    "the same charge twice is two charges": ([("place_order", {"item": "a"})] * 2, [True, True]),
    "no arguments at all": ([("place_order", "everything")], []),  # type: ignore[list-item]
}


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_whatever_happens_it_happens_alike_before_a_gateway_and_a_plain_server(
    scenario: str, tmp_path: Path
) -> None:
    calls, answers = SCENARIOS[scenario]
    told = []
    for way in ("plain", "gateway"):
        book, person = Book(), Somebody(*answers)
        async with over_http(book.server) as upstream, reached(way, upstream, tmp_path) as url:
            async with governed(url, ERAS[0], person, trusted=way == "gateway") as client:
                results = [await client.call_tool(*call) for call in calls]
                listed = sorted(tool.name for tool in await client.list_tools())
        seen = [(result.is_error, result.structured_content) for result in results]
        asked = [(question.tool, question.arguments, question.price, question.why) for question in person.asked]
        told.append((seen, asked, book.effects, listed, person.answers))
    assert told[0] == told[1]
    assert told[0][-1] == [], "everybody was asked who should be"


@asynccontextmanager
async def reached(way: str, upstream: str, folder: Path) -> AsyncIterator[str]:
    if way == "plain":
        yield upstream
        return
    async with gateway(folder, upstream) as (url, _):
        yield url


async def test_an_approver_elsewhere_is_waited_for(era: str, tmp_path: Path) -> None:
    book = Book()
    async with over_http(book.server) as upstream, gateway(tmp_path, upstream) as (url, gateway_app):

        async def meanwhile(seconds: float) -> None:
            (waiting,) = [noted for noted in client.journal.entries if noted.what == "waited"]
            await approve(ANN, waiting.facts["approval"], "approve", gateway_app.ports)

        async with governed(url, era, Somebody(True), trusted=True, sleep=meanwhile) as client:
            assert (await client.call_tool("delete_order", {"order_id": "o-1"})).structured_content == {
                "deleted": "o-1"
            }
    assert book.effects == ["delete o-1"]


async def test_what_is_left_to_the_server_waits_for_somebody_there(era: str, tmp_path: Path) -> None:
    book = Book()
    async with over_http(book.server) as upstream, gateway(tmp_path, upstream) as (url, gateway_app):
        async with governed(url, era, leave_to_server, trusted=True, approval_patience=0) as client:
            pending = (await client.call_tool("place_order", {"item": "a"})).structured_content
            assert pending["code"] == "confirm.approval_pending"
            await approve(ANN, pending["approval"], "approve", gateway_app.ports)
            assert (await client.call_tool("place_order", {"item": "a"})).structured_content == {"order": 1}
    async with over_http(book.server) as url, governed(url, era, leave_to_server) as client:
        refused = await client.call_tool("place_order", {"item": "a"})
        assert refused.structured_content["code"] == "confirm.cancelled"
    assert book.effects == ["a"]


@asynccontextmanager
async def cutting(url: str, cut: asyncio.Event, instead: bytes | None = None) -> AsyncIterator[str]:
    """A wire in between, which is cut as an answer comes while `cut` is set; then it works again.

    With `instead`, the call never arrives and that is its answer.
    """
    port = int(url.split(":")[2].split("/")[0])

    mark = b"structuredContent" if instead is None else b'"tools/call"'

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter, home: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                if cut.is_set() and mark in data:
                    cut.clear()
                    home.write(instead or b"")
                    break
                sink.write(data)
                await sink.drain()
        except ConnectionError:
            pass
        finally:
            sink.close()
            if instead is not None:
                home.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pump(reader, far_writer, writer), pump(far_reader, writer, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    finally:
        server.close()


SERVER_ERROR = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


async def test_a_server_error_of_http_is_retried_under_the_same_key(era: str, tmp_path: Path) -> None:
    server, assent = build(f"sqlite:///{tmp_path}/shop.db", tmp_path / "shop.log")
    cut = asyncio.Event()

    def agree(question: Any) -> bool:
        cut.set()
        return True

    async with over_http(server) as url, cutting(url, cut, SERVER_ERROR) as wire:
        async with governed(wire, era, agree, trusted=True) as client:
            result = await client.call_tool("place_order", {"item": "print"})
            failed = [noted.facts["why"] for noted in client.journal.entries if noted.what == "failed"]
    await assent.close()
    assert result.structured_content == {"order_id": "o-1", "amount": 240}
    assert failed == ["the server failed"]
    assert len((tmp_path / "shop.log").read_text().splitlines()) == 1


async def test_a_wire_cut_after_the_charge_leaves_one_charge_and_the_answer(era: str, tmp_path: Path) -> None:
    server, assent = build(f"sqlite:///{tmp_path}/shop.db", tmp_path / "shop.log")
    cut = asyncio.Event()

    def agree(question: Any) -> bool:
        cut.set()
        return True

    async with over_http(server) as url, cutting(url, cut) as wire:
        async with governed(wire, era, agree, trusted=True) as client:
            result = await client.call_tool("place_order", {"item": "print"})
            happened = [noted.what for noted in client.journal.of("place_order")]
    await assent.close()
    assert result.structured_content == {"order_id": "o-1", "amount": 240}
    assert "retried" in happened
    assert len((tmp_path / "shop.log").read_text().splitlines()) == 1
    assert not cut.is_set()


async def test_required_dry_runs_are_made_and_shown(era: str, tmp_path: Path) -> None:
    server, assent = build(f"sqlite:///{tmp_path}/shop.db", tmp_path / "shop.log")
    person = Somebody(True)
    async with over_http(server) as url, governed(url, era, person, trusted=True) as client:
        result = await client.call_tool("delete_customer", {"customer_id": "c-1"})
        shown = await client.call_tool("delete_customer", {"customer_id": "c-2", "dryRun": True})
    await assent.close()
    assert result.structured_content == {"deleted": "c-1"}
    assert shown.structured_content["dryRun"] is True
    assert person.asked[0].preview["expectedSideEffects"] == ["The customer and all their orders are deleted for good."]
    assert len(person.asked) == 1
    assert [json.loads(line)["customer_id"] for line in (tmp_path / "shop.log").read_text().splitlines()] == ["c-1"]


async def test_one_time_secrets_of_a_governed_server_reach_only_the_caller(era: str, tmp_path: Path) -> None:
    server, assent = build(f"sqlite:///{tmp_path}/shop.db", tmp_path / "shop.log")
    delivered: list[Any] = []
    async with over_http(server) as url:
        async with governed(url, era, Somebody(True), trusted=True, on_secret=delivered.append) as client:
            shown = await client.call_tool("export_orders", {"month": "May"})
    await assent.close()
    assert "one-time-1" not in shown.model_dump_json()
    assert delivered[0].result.structured_content["download"]["token"] == "one-time-1"
