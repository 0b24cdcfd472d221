"""Seed 000's conversation: look, estimate, ask, place; the shop dies in the middle and charges once."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import fastmcp
import pytest
from fastmcp.client.transports import StdioTransport
from mcp import StdioServerParameters

from assent import GovernedClient
from support.clients.transports import ROOT

sys.path.insert(0, str(ROOT / "examples"))
from estimate_then_place.agent import converse, script, shop


async def no_time(seconds: float) -> None:
    return None


def by_fastmcp(server: StdioServerParameters) -> fastmcp.Client[Any]:
    """The same process, by FastMCP's client."""
    return fastmcp.Client(StdioTransport(server.command, server.args, env=server.env))


async def played(
    folder: Path, *answers: Any, falls_over: bool, client_of: Any = lambda server: server
) -> tuple[list[Any], list[Any], list[Any], str]:
    """The questions, the journal, the shop's own book, and the model's last words."""
    asked: list[Any] = []
    remaining = list(answers)

    def asker(question: Any) -> Any:
        asked.append(question)
        return remaining.pop(0)

    book = folder / "charges.log"
    server = client_of(shop(book, falls_over=falls_over))
    async with GovernedClient(server, name="scenes", trusted=True, asker=asker, sleep=no_time) as client:
        words = await converse(client, script, lambda line: None)
        journal = client.journal.entries
    lines = book.read_text("utf-8").splitlines() if book.exists() else []
    return asked, journal, [json.loads(line) for line in lines], words


@pytest.mark.parametrize("falls_over", [False, True], ids=["nothing breaks", "the shop dies after charging"])
@pytest.mark.parametrize("client_of", [lambda server: server, by_fastmcp], ids=["the SDK's client", "FastMCP's"])
async def test_the_user_is_asked_once_with_the_price_and_charged_once(
    tmp_path: Path, falls_over: bool, client_of: Any
) -> None:
    asked, journal, book, words = await played(tmp_path, True, falls_over=falls_over, client_of=client_of)
    assert [question.tool for question in asked] == ["orders.archive.place"]
    assert "Price: 240 credits" in asked[0].text.splitlines()
    assert [charge["item"] for charge in book] == ["etna-2026-06"]
    assert words == "I ordered etna-2026-06: o-1."
    happened = [noted.what for noted in journal if noted.tool == "orders.archive.place"]
    broken = ["failed", "retried", "reconnected"] if falls_over else []
    assert happened == ["estimated", "asked", "decided", "called", *broken, "answered"]


async def test_a_user_who_says_no_is_not_charged(tmp_path: Path) -> None:
    asked, _, book, words = await played(tmp_path, False, falls_over=True)
    assert len(asked) == 1
    assert book == []
    assert words == "I did not order it: A person declined this call."
