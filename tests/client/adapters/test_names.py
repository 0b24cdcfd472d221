"""Names for models."""

from __future__ import annotations

import re

import pytest

from assent.client.adapters.toolbox import Names

LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


def given(*tools: str) -> list[str]:
    names = Names()
    names.give(tools)
    return [names.of(tool) for tool in tools]


@pytest.mark.parametrize(
    "tools",
    [
        ("a.b", "a_b", "a/b"),
        ("名前", "文件", ""),
        ("x" * 80 + "1", "x" * 80 + "2", "x" * 64),
        ("\ud800", "a\nb", "a b"),
    ],
)
def test_every_name_is_legal_and_no_two_are_the_same(tools: tuple[str, ...]) -> None:
    names = given(*tools)
    assert all(LEGAL.match(name) for name in names)
    assert len(set(names)) == len(tools)


def test_a_name_that_is_fit_is_kept_though_it_is_listed_last() -> None:
    assert given("a.b", "a_b")[1] == "a_b"


def test_the_same_tools_get_the_same_names_in_another_process() -> None:
    assert given("a.b", "a/b") == given("a.b", "a/b")


def test_a_name_stays_with_its_tool_when_the_list_changes() -> None:
    names = Names()
    names.give(["orders.delete"])
    names.give(["orders_delete"])
    assert names.tool_named("orders_delete") == "orders.delete"
    assert names.of("orders_delete") != "orders_delete"
    assert names.tool_named("never") is None


def test_a_tool_that_takes_the_name_another_would_get_is_told_apart() -> None:
    _, marked = given("a_b", "a.b")
    names = given("a_b", marked, "a.b")
    assert len(set(names)) == 3
