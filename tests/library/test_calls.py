"""Is a person who is asked on the stream asked again about what has changed meanwhile, and never without end?"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from assent.contract.decorator import contract
from assent.contract.yaml_document import write_yaml
from assent.library.governance import Assent
from support.clients.transports import over_http
from support.decisions.problems import problem
from support.gateway.gateways import gateway

ESTIMATE: dict[str, Any] = {"side_effect": "read"}
PLACE: dict[str, Any] = {
    "side_effect": "external_spend",
    "confirmation": {"by": "user"},
    "idempotency": {"key": "auto"},
    "estimate": {"tool": "estimate", "amount": "/price"},
}


class Market:
    """A server whose prices move, and what was bought there."""

    def __init__(self, prices: Iterable[int | Exception], **options: Any) -> None:
        self.prices: Iterator[int | Exception] = iter(prices)
        self.bought: list[str] = []
        self.server = MCPServer("market", log_level="ERROR", **options)
        self.server.add_tool(contract(**ESTIMATE)(self._estimate), name="estimate")
        self.server.add_tool(contract(**PLACE)(self._place), name="place")

    @property
    def _estimate(self) -> Any:
        def estimate(item: str) -> dict[str, int]:
            price = next(self.prices)
            if isinstance(price, Exception):
                raise price
            return {"price": price}

        return estimate

    @property
    def _place(self) -> Any:
        def place(item: str) -> dict[str, str]:
            self.bought.append(item)
            return {"bought": item}

        return place


class Person:
    """Says yes to everything, and remembers the prices."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    async def __call__(self, context: Any, params: Any) -> types.ElicitResult:
        self.shown += [line for line in params.message.splitlines() if line.startswith("Price: ")]
        return types.ElicitResult(action="accept", content={})


@asynccontextmanager
async def inside(market: Market, assent: Assent, person: Person) -> AsyncIterator[Client]:
    assent.apply(market.server)
    async with Client(market.server, mode="legacy", elicitation_callback=person) as client:
        yield client
    await assent.close()


@asynccontextmanager
async def in_front(market: Market, folder: Path, person: Person) -> AsyncIterator[Client]:
    (folder / "market.yaml").write_text(write_yaml({"tools": {"place": PLACE, "estimate": ESTIMATE}}))
    files = [str(folder / "market.yaml")]
    async with over_http(market.server) as url, gateway(folder, {"market": {"url": url}}, contracts=files) as (at, _):
        async with Client(at, mode="legacy", elicitation_callback=person) as client:
            yield client


async def bought(
    edge: str, prices: Iterable[int | Exception], folder: Path, person: Person
) -> tuple[Market, types.CallToolResult]:
    if edge == "library":
        assent = Assent()
        market = Market(prices, extensions=[assent.extension()])
        there = inside(market, assent, person)
    else:
        market = Market(prices)
        there = in_front(market, folder, person)
    async with there as client:
        return market, await client.call_tool("place", {"item": "tea"})


@pytest.mark.parametrize("edge", ["library", "gateway"])
async def test_a_price_that_moved_under_a_yes_is_asked_about_anew(edge: str, tmp_path: Path) -> None:
    person = Person()
    market, result = await bought(edge, [10, 11, 11], tmp_path, person)
    assert result.structured_content == {"bought": "tea"}
    assert person.shown == ["Price: 10", "Price: 11"]
    assert market.bought == ["tea"]


@pytest.mark.parametrize("edge", ["library", "gateway"])
async def test_a_price_that_never_stands_still_is_left_to_be_decided_elsewhere(edge: str, tmp_path: Path) -> None:
    person = Person()
    market, result = await bought(edge, range(10, 100), tmp_path, person)
    assert result.is_error
    assert problem(result)["code"] == "confirm.approval_pending"
    assert len(person.shown) == 3
    assert market.bought == []


@pytest.mark.parametrize("edge", ["library", "gateway"])
async def test_why_no_price_can_be_given_is_passed_on_in_the_words_of_the_tool(edge: str, tmp_path: Path) -> None:
    market, result = await bought(edge, [ToolError('No item "tea".')], tmp_path, Person())
    told = problem(result)
    assert told["code"] == "rehearse.estimate_failed"
    assert 'The tool that gives the price said: "' in told["detail"]
    assert 'No item \\"tea\\".' in told["detail"]
    assert (told["remedy"], told["retryable"]) == ("Change what that tool rejects, or tell the user.", False)
    assert market.bought == []


async def test_what_crashed_while_a_price_was_asked_for_is_told_to_nobody(tmp_path: Path) -> None:
    _, result = await bought("library", [RuntimeError("secret")], tmp_path, Person())
    told = problem(result)
    assert told["code"] == "rehearse.estimate_failed"
    assert told["remedy"] == "Tell the user, or try again later."
    assert "secret" not in str(result)
