"""Which price a person is shown, and what they are told about it."""

from __future__ import annotations

from typing import Any

import pytest

from assent import GovernedClient
from assent.client.tool_policy import same_price
from assent.core.estimates import price_in
from support.clients.person import Naps, Somebody
from support.servers.plain_server import Plain, said, tool


@pytest.mark.parametrize(
    ("estimate", "price"),
    [
        ({"price": 5, "total": 5000, "currency": "EUR"}, "5000 EUR"),
        ({"price": {"per": "piece"}, "amount": 7, "currency": "EUR"}, "7 EUR"),
        ({"total": {"amount": 9, "currency": "EUR"}}, "9 EUR"),
        ({"credits": 3}, "3 credits"),
        ({"price": True}, None),
        ([5], None),
    ],
)
def test_the_price_is_what_is_to_be_paid_in_all(estimate: Any, price: str | None) -> None:
    assert price_in(estimate) == price


def test_a_price_within_a_price_without_end_is_none() -> None:
    estimate: Any = {"price": 1}
    for _ in range(2000):
        estimate = {"price": estimate}
    assert price_in(estimate) is None


def test_a_price_is_no_place_for_a_story() -> None:
    assert len(price_in({"price": "0 EUR " * 1000}) or "") <= 100


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("5 EUR", "5 EUR", True), ("5", "5 EUR", True), ("5 EUR", "5 USD", False), ("5 EUR", "50 EUR", False)],
)
def test_the_same_number_of_other_money_is_another_price(one: str, other: str, same: bool) -> None:
    assert same_price(one, other) is same


async def test_the_whole_estimate_is_shown_with_what_it_was_not_told() -> None:
    place = tool("place_order", "item", "quantity", tier="external_spend")
    estimate = tool("place_order.estimate", "item", tier="read")
    answer = said({"price": 5, "currency": "EUR", "setup_fee": 700})
    plain, person = Plain(place, estimate, **{"place_order.estimate": answer}), Somebody(False)
    async with GovernedClient(plain.server, asker=person, trusted=True, sleep=Naps()) as client:
        await client.call_tool("place_order", {"item": "a", "quantity": 1000})
    shown = person.asked[0].text
    assert "Price: 5 EUR" in shown
    assert "  setup_fee: 700" in shown
    assert "Warning: The estimate was made without: quantity." in shown
