"""The fixture that test suites of servers use."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from fastmcp import FastMCP
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

from assent import contract
from assent.errors import SettingsError


def shop(broken: bool) -> tuple[MCPServer, dict[str, int]]:
    server, stock = MCPServer("shop", log_level="ERROR"), {"print": 3}

    @server.tool()
    @contract(side_effect="read")
    def list_stock(item: str = "print") -> dict[str, int]:
        """Lists what is there."""
        if broken:
            stock[item] = stock.get(item, 0) + 1
        return {"count": 1}

    @server.tool()
    @contract(side_effect="write", overwrites=True, idempotency={"recovery": "natural"})
    def set_stock(item: str, count: int) -> dict[str, int]:
        """Sets how many are there."""
        stock[item] = count
        return {"count": count}

    return server, stock


def test_a_server_that_keeps_its_promises_passes(assent_verify: Callable[..., Any]) -> None:
    server, stock = shop(broken=False)
    verdict = assent_verify(server, calls="all", snapshot=lambda: dict(stock))
    assert [one.tool for one in verdict.checked if one.calls] == ["list_stock", "set_stock"]


async def test_a_broken_promise_fails_the_test_and_is_named(assent_verify: Callable[..., Any]) -> None:
    server, stock = shop(broken=True)
    with pytest.raises(
        AssertionError, match="list_stock: promised that it reads only, but a read changed the snapshot"
    ):
        assent_verify(server, snapshot=lambda: dict(stock))


def test_a_tool_that_never_answers_is_given_up_and_named(assent_verify: Callable[..., Any]) -> None:
    server = MCPServer("shop", log_level="ERROR")

    @server.tool()
    @contract(side_effect="read")
    async def list_stock() -> dict[str, int]:
        """Lists what is there."""
        await asyncio.Event().wait()
        return {}

    with pytest.raises(AssertionError, match=r"list_stock: promised that .* no answer came within 0.1 s"):
        assent_verify(server, timeout=0.1)


def test_a_test_that_would_show_nothing_fails(assent_verify: Callable[..., Any]) -> None:
    server = MCPServer("notes", log_level="ERROR")

    @server.tool(annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False))
    def add_note(text: str) -> str:
        """Adds a note."""
        return ""

    with pytest.raises(AssertionError, match=r"no tool was called:\s+add_note: it may have an effect"):
        assent_verify(server)
    with pytest.raises(ValueError, match="no tool named list_notes"):
        assent_verify(server, calls="all", only=["list_notes"])
    with pytest.raises(ValueError, match="calls is one of reads, all"):
        assent_verify(server, calls="writes")
    assert assent_verify(server, calls="all").checked[0].calls


def test_a_fastmcp_server_is_verified_with_the_contracts_of_its_functions(assent_verify: Callable[..., Any]) -> None:
    server: FastMCP[Any] = FastMCP("links")

    @server.tool
    @contract(side_effect="share_export", secrets=["/token"])
    def create_link(item: str) -> dict[str, str]:
        """Creates a link."""
        return {"token": "always-the-same"}

    with pytest.raises(AssertionError, match="a secret is shown once, but a second call returned the same secret"):
        assent_verify(server, calls="all")


class Basket:
    """Something whose text says nothing of what stands in it."""

    def __init__(self) -> None:
        self.looks = 0
        self.itself = self


class Slotted:
    """State without a text and without a dictionary."""

    __slots__ = ("looks",)

    def __init__(self, looks: int) -> None:
        self.looks = looks


def test_objects_that_hold_the_same_are_the_same(assent_verify: Callable[..., Any]) -> None:
    server = MCPServer("shop", log_level="ERROR")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def get_item(name: str) -> str:
        """Gets an item."""
        return ""

    assent_verify(server, snapshot=lambda: [object(), Slotted(1)])


@pytest.mark.parametrize(
    "state",
    [
        lambda basket: {("ann", "a"): basket.looks},
        lambda basket: {1: basket.looks, "x": 2},
        lambda basket: {"a": basket},
        lambda basket: {frozenset({basket.looks})},
        lambda basket: (looks for looks in [basket.looks]),
        lambda basket: Slotted(basket.looks),
    ],
)
def test_whatever_a_snapshot_is_made_of_a_change_is_seen(
    assent_verify: Callable[..., Any], state: Callable[[Basket], Any]
) -> None:
    server, basket = MCPServer("shop", log_level="ERROR"), Basket()

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def get_item(name: str) -> str:
        """Gets an item."""
        basket.looks += 1
        return ""

    with pytest.raises(AssertionError, match="a read changed the snapshot"):
        assent_verify(server, snapshot=lambda: state(basket))


def test_options_that_mean_nothing_are_refused(assent_verify: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="examples is at least 1, not 0"):
        assent_verify(MCPServer("shop"), examples=0)
    with pytest.raises(ValueError, match="timeout is more than 0, not 0"):
        assent_verify(MCPServer("shop"), timeout=0)
    with pytest.raises(ValueError, match=r"write only=\['get_item'\]"):
        assent_verify(MCPServer("shop"), only="get_item")
    with pytest.raises(SettingsError, match="there is no database at ''"):
        assent_verify(MCPServer("shop"), database="")
