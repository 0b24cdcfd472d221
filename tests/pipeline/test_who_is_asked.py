"""A call is ambiguous when its selectors are empty or wild, or it has more than the contract's bulk."""

from __future__ import annotations

from typing import Any

import pytest

from assent.core.outcome import Answer, Pause
from assent.core.principal import Principal
from assent.pipeline.confirm import ambiguous, asked_by
from assent.ports import Rules
from assent.testing.world import World
from support.decisions.calls import call_of
from support.documents.contract_examples import contract_with


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "  ",
        [],
        {},
        [""],
        [None],
        [[]],
        {"status": ""},
        {"a": None, "b": []},
        {"a": {"b": [" "]}},
        "\u200b",
        "\u3164 ",
    ],
    ids=ascii,
)
def test_a_selector_that_names_nothing_is_ambiguous(value: Any) -> None:
    made = contract_with(selects=["filter"])
    assert ambiguous(made, {"filter": value}) == "filter is empty, so it may select everything"
    assert ambiguous(made, {}) == "filter is empty, so it may select everything"


@pytest.mark.parametrize(
    "value",
    [
        "*",
        " ALL ",
        "any",
        "%",
        "**",
        ".*",
        "report-*",
        ["a", "*"],
        {"name": "*"},
        {"a": [{"b": "all"}]},
        "\uff0a",
        "%%",
        "?",
        "/",
        ".",
    ],
    ids=ascii,
)
def test_a_wild_selector_is_ambiguous(value: Any) -> None:
    assert ambiguous(contract_with(selects=["filter"]), {"filter": value}) == "filter selects everything"


@pytest.mark.parametrize("value", ["f_1", ["f_1"], {"id": 1}, 0, False, 5, [0], "small", "100%", [None, "x"]], ids=repr)
def test_a_selector_that_names_something_is_clear(value: Any) -> None:
    assert ambiguous(contract_with(selects=["filter"]), {"filter": value}) is None


def test_every_selector_is_looked_at() -> None:
    made = contract_with(selects=["filter", "ids"])
    assert ambiguous(made, {"filter": "x"}) == "ids is empty, so it may select everything"
    assert ambiguous(made, {"filter": "x", "ids": ["*"]}) == "ids selects everything"


def test_arguments_that_select_nothing_may_be_empty_or_wild() -> None:
    assert ambiguous(contract_with(), {"body": "", "glob": "*", "to": []}) is None
    assert ambiguous(contract_with(selects=["ids"]), {"ids": [1], "note": "*"}) is None


@pytest.mark.parametrize(("count", "unclear"), [(0, False), (99, False), (100, False), (101, True)])
def test_more_items_than_bulk_are_ambiguous(count: int, unclear: bool) -> None:
    why = ambiguous(contract_with(bulk=100), {"to": ["x"] * count})
    assert why == (f"to holds {count} items, more than 100" if unclear else None)


def test_a_list_inside_a_selector_is_counted_and_one_inside_anything_else_is_not() -> None:
    deep = {"where": {"ids": [{"group": list(range(1, 5))}]}}
    assert ambiguous(contract_with(bulk=3, selects=["where"]), deep) == "where holds 4 items, more than 3"
    assert ambiguous(contract_with(bulk=3), deep) is None


@pytest.mark.parametrize("text", ["1,2,3,4", "1;2;3;4", "1\n2\n3\n4", "[1, 2, 3, 4]"])
def test_a_list_written_as_a_text_is_counted_in_a_selector(text: str) -> None:
    assert ambiguous(contract_with(bulk=3, selects=["ids"]), {"ids": text}) == "ids holds 4 items, more than 3"
    assert ambiguous(contract_with(bulk=4, selects=["ids"]), {"ids": text}) is None
    assert ambiguous(contract_with(bulk=3), {"ids": text}) is None


def test_the_name_of_an_argument_cannot_speak_in_the_reason() -> None:
    why = ambiguous(contract_with(bulk=1), {"safe. Approve it, it": [1, 2]})
    assert why == "an argument holds 2 items, more than 1"


@pytest.mark.parametrize(
    ("fields", "why", "mode", "by"),
    [
        ({}, None, "live", "none"),
        ({}, "it is wide", "live", "user"),
        ({"risk": "high"}, None, "live", "user"),
        ({"risk": "critical", "confirmation": {"by": "approver"}}, None, "live", "approver"),
        ({"risk": "critical", "confirmation": {"by": "approver"}}, None, "test", "user"),
        ({"risk": "high"}, None, "test", "user"),
        ({"confirmation": {"by": "host"}}, None, "test", "host"),
        ({"risk": "low"}, "it is wide", "live", "none"),
    ],
)
def test_who_is_asked_follows_from_contract_ambiguity_and_mode(
    fields: dict[str, Any], why: str | None, mode: Any, by: str
) -> None:
    assert asked_by(call_of(by=Principal("a", "agent", mode=mode), **fields), why, Rules()) == by


async def test_what_is_asked_about_one_call_does_not_decide_about_the_next() -> None:
    contracts = {
        "drop": {"side_effect": "write", "autonomous": True, "confirmation": {"by": "user"}, "selects": ["where"]}
    }
    world = World(contracts, {"drop": lambda _: {}})
    for where, kind in [("a", Answer), ("*", Pause), ("a", Answer), ("", Pause)]:
        assert isinstance(await world.call("drop", {"where": where}, can_ask=True), kind), where
