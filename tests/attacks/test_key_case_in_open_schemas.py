"""Another spelling of an argument does not pass guards, budgets and step-up where the tool's schema names nothing."""

from __future__ import annotations

from typing import Any

import pytest

from assent.contract.model import Contract
from assent.core.tool import compile_tool
from assent.rules.guards.rules.allow_domains import AllowDomains
from assent.rules.guards.rules.block_keywords import BlockKeywords
from assent.rules.guards.rules.bounds import Bounds

OPEN = {"name": "pay", "inputSchema": {"type": "object"}}


@pytest.mark.parametrize("name", ["amount", "Amount", "AMOUNT"])
def test_a_guard_looks_at_its_field_in_every_spelling(name: str) -> None:
    assert Bounds(fields=("amount",), most=10).denies({name: 1000}) == (name, "it is more than 10")
    assert Bounds(fields=("amount",), most=10).denies({name: 5}) is None


def test_a_kelvin_sign_and_a_long_s_are_spellings_too() -> None:
    rule = AllowDomains(domains=("example.com",), fields=("links",))
    assert rule.denies({"lin\u212a\u017f": ["https://evil.org"]}) is not None


def test_keywords_are_looked_for_in_the_named_fields_alone() -> None:
    rule = BlockKeywords(keywords=("drop table",), fields=("sql",))
    assert rule.denies({"SQL": "drop table x"}) is not None
    assert rule.denies({"note": "drop table x"}) is None


@pytest.mark.parametrize(
    ("contract", "arguments"),
    [
        ({"cost": {"amount": "/amount", "currency": "EUR"}}, {"amount": 1, "Amount": 1000}),
        ({"cost": {"amount": "/order/lines/0/price"}}, {"order": {"lines": [{"price": 1, "Price": 1000}]}}),
        ({"natural": {"by": ["path"]}}, {"path": "a", "PATH": "b"}),
        ({"selects": ["ids"]}, {"ids": ["a"], "Ids": []}),
        ({"step_up": {"when": "amount > 100", "max_age": 300}}, {"amount": 1, "Amount": 1000}),
    ],
)
def test_arguments_that_a_contract_reads_have_one_spelling(contract: dict[str, Any], arguments: dict[str, Any]) -> None:
    tool = compile_tool(Contract(name="pay", side_effect="external_spend", **contract), definition=OPEN)
    assert tool.spelling is not None
    assert [found.both for found in tool.spelling.find(arguments)] == [True]
