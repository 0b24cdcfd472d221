"""A catalogue has each name once, and knows why a tool is absent."""

from __future__ import annotations

from typing import Any

import pytest

from assent.core.catalogue import catalogue_of, catalogue_that_holds, safe_names
from assent.core.principal import Principal
from assent.core.tool import compile_tool
from assent.errors import ContractError
from assent.pipeline.discover import absent_for
from support.documents.contract_examples import contract_with


def test_tools_are_found_by_their_names() -> None:
    tool = compile_tool(contract_with("a"))
    catalogue = catalogue_of([tool], {"b": "it is an image"})
    assert catalogue.find("a") is tool
    assert catalogue.find("b") is None
    assert catalogue.withheld == {"b": "it is an image"}


def test_two_tools_of_one_name_are_refused_with_where_they_come_from() -> None:
    tools = [compile_tool(contract_with("a"), upstream=upstream) for upstream in ("files", "mail")]
    with pytest.raises(ContractError, match=r"a: 'files' and 'mail' both have a tool of this name. Give one of them"):
        catalogue_of(tools)


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("estimate.tool", {"estimate": {"tool": "other", "amount": "/price"}}),
        ("idempotency.lookup.tool", {"idempotency": {"recovery": "reconcile", "lookup": {"tool": "other"}}}),
    ],
)
def test_what_runs_without_a_question_must_be_a_read(field: str, fields: dict[str, Any]) -> None:
    tool = compile_tool(contract_with("tool", "write", **fields))
    safe, unsafe = (compile_tool(contract_with("other", tier)) for tier in ("read", "write"))
    assert catalogue_of([tool]).find("tool") is tool
    assert catalogue_of([tool, safe]).find("tool") is tool
    with pytest.raises(ContractError) as caught:
        catalogue_of([tool, unsafe])
    assert [str(fault) for fault in caught.value.faults] == [
        f"tool.{field}: other is not read-only. Use a tool whose side_effect is read"
    ]


def test_what_an_upstream_calls_by_another_name_must_be_a_read_too() -> None:
    fields = {"estimate": {"tool": "other", "amount": "/price"}}
    tool = compile_tool(contract_with("a_tool", "write", **fields), upstream="a", wire_name="tool")
    elsewhere = compile_tool(contract_with("other", "write"), upstream="b")
    unsafe = compile_tool(contract_with("a_other", "destructive"), upstream="a", wire_name="other")
    assert catalogue_of([tool, elsewhere]).beside(tool, "other") is None
    with pytest.raises(ContractError, match="other is not read-only"):
        catalogue_of([tool, elsewhere, unsafe])


def test_safe_names_have_underscores_for_dots() -> None:
    assert safe_names(["a.b", "c"]) == {"a.b": "a_b", "c": "c"}


def test_names_that_collide_on_the_wire_are_refused() -> None:
    with pytest.raises(ContractError, match=r"'a.b' and 'a_b' are both 'a_b' on the wire. Rename one of them"):
        safe_names(["a.b", "a_b"])


AGENT, HUMAN = Principal("a", "agent"), Principal("h", "human")
SERVICE_OF_AGENT = Principal("s", "service", actors=(AGENT,))


@pytest.mark.parametrize(
    ("fields", "caller", "absent"),
    [
        ({"visibility": "hidden"}, HUMAN, True),
        ({"visibility": "hidden"}, AGENT, True),
        ({"visibility": "locked"}, AGENT, False),
        ({"risk": "forbidden"}, AGENT, True),
        ({"risk": "forbidden"}, SERVICE_OF_AGENT, True),
        ({"risk": "forbidden"}, HUMAN, False),
        ({"risk": "critical"}, AGENT, False),
    ],
)
def test_a_tool_is_absent_if_it_is_hidden_or_forbidden_for_ai(
    fields: dict[str, Any], caller: Principal, absent: bool
) -> None:
    assert (absent_for(compile_tool(contract_with(**fields)), caller) is not None) is absent


def test_what_servers_say_by_themselves_withholds_what_is_in_the_way_and_nothing_else() -> None:
    one, other = (compile_tool(contract_with("copy", "write"), upstream=name) for name in ("a", "b"))
    fine = compile_tool(contract_with("get"), upstream="b")
    catalogue = catalogue_that_holds([one, fine, other], {"image": "it is an image"})
    assert list(catalogue.tools) == ["get"]
    assert catalogue.withheld == {"image": "it is an image", "copy": "'a' and 'b' both have a tool of this name"}


def test_a_tool_whose_estimate_turned_into_more_than_a_read_is_withheld_alone() -> None:
    order = compile_tool(contract_with("order", "write", estimate={"tool": "estimate", "amount": "/price"}))
    turned = compile_tool(contract_with("estimate", "write"))
    catalogue = catalogue_that_holds([order, turned], {})
    assert list(catalogue.tools) == ["estimate"]
    assert "is not read-only" in catalogue.withheld["order"]
