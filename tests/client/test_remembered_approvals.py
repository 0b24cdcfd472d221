"""What a remembered yes covers: the price and the preview that were shown are part of it."""

from __future__ import annotations

from typing import Any

import pytest

from assent import GovernedClient
from assent.client import Answer, Remember
from assent.testing import Clock
from support.clients.person import Naps, Somebody
from support.servers.plain_server import Plain, said, tool

PLACE = tool("place_order", "item", tier="external_spend")
ESTIMATE = tool("place_order.estimate", "item", tier="read")
YES = Answer("accept", remember=Remember({"item": "a"}, seconds=60))


def governed(plain: Plain, person: Any, **options: Any) -> GovernedClient:
    return GovernedClient(plain.server, asker=person, trusted=True, **{"sleep": Naps(), **options})


@pytest.mark.parametrize(
    ("later", "asked"),
    [
        ({"price": 5, "currency": "EUR"}, 1),
        ({"price": 4.5, "currency": "EUR"}, 1),
        ({"price": 5000, "currency": "EUR"}, 2),
        ({"price": 5, "currency": "USD"}, 2),
        ({"price": "1,000", "currency": "EUR"}, 2),
        ({"price": -1, "currency": "EUR"}, 2),
        ({}, 2),
    ],
)
async def test_a_remembered_yes_does_not_pay_more_than_was_shown(later: Any, asked: int) -> None:
    prices = [said({"price": 5, "currency": "EUR"}), said(later)]
    plain, person = Plain(PLACE, ESTIMATE, **{"place_order.estimate": prices}), Somebody(YES, False)
    async with governed(plain, person) as client:
        await client.call_tool("place_order", {"item": "a"})
        await client.call_tool("place_order", {"item": "a"})
    assert len(person.asked) == asked


@pytest.mark.parametrize(("later", "asked"), [(3, 1), (30_000, 2)])
async def test_a_remembered_yes_is_for_the_preview_that_was_shown(later: int, asked: int) -> None:
    contract = {"tier": "destructive", "confirmation": "user", "dry_run": {"mode": "required", "argument": "dryRun"}}
    previews = [said({"deletes": 3}), said(), said({"deletes": later}), said()]
    plain, person = Plain(tool("clean", "item", contract=contract), clean=previews), Somebody(YES, False)
    async with governed(plain, person) as client:
        await client.call_tool("clean", {"item": "a"})
        await client.call_tool("clean", {"item": "a"})
    assert len(person.asked) == asked


async def test_a_clock_that_is_set_back_ends_what_was_allowed() -> None:
    plain, person, clock = Plain(PLACE), Somebody(YES, False), Clock()
    async with governed(plain, person, now=clock) as client:
        await client.call_tool("place_order", {"item": "a"})
        clock.at += 50
        await client.call_tool("place_order", {"item": "a"})
        clock.at -= 40
        assert (await client.call_tool("place_order", {"item": "a"})).is_error
    assert len(person.asked) == 2
