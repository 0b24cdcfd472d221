"""A configured line speaks of the calls that fit everything it says."""

from __future__ import annotations

from typing import Any

import pytest

from assent.core.match import Match
from assent.core.principal import Principal
from support.decisions.calls import call_of

CALL = call_of(
    {}, name="orders_place", side_effect="external_spend", upstream="shop", by=Principal("ci", "agent", tenant="acme")
)


@pytest.mark.parametrize(
    ("said", "holds"),
    [
        ({}, True),
        ({"tool": "orders_*"}, True),
        ({"tool": "orders"}, False),
        ({"tool": "ORDERS_*"}, False),
        ({"upstream": "shop"}, True),
        ({"upstream": "bank"}, False),
        ({"tier": "external_spend"}, True),
        ({"tier": "write"}, False),
        ({"risk": "critical"}, True),
        ({"risk": "low"}, False),
        ({"tenant": "ac*"}, True),
        ({"tenant": "other"}, False),
        ({"principal": "c?"}, True),
        ({"principal": "d?"}, False),
        ({"kind": "agent"}, True),
        ({"kind": "human"}, False),
        ({"tool": "orders_*", "tier": "external_spend", "kind": "agent"}, True),
        ({"tool": "orders_*", "tier": "external_spend", "kind": "human"}, False),
    ],
)
def test_everything_said_must_hold(said: dict[str, Any], holds: bool) -> None:
    assert Match(**said).holds(CALL) is holds
