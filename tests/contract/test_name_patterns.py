"""Contracts for every tool whose name fits a pattern."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp.server import MCPServer

from assent import Assent
from assent.contract.binding import ContractLookup, Offered, bind, fits
from assent.contract.files import parse_written
from assent.errors import ContractError
from assent.testing.assertions import tools_of

FILE = """
tools:
  list_*: {side_effect: read}
  "*_customer": {side_effect: write}
  delete_customer: {side_effect: destructive}
"""


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("list_*", "list_orders", True),
        ("list_*", "list_", True),
        ("list_*", "unlist_orders", False),
        ("a.*", "axb", False),
        ("*", "anything", True),
        ("get_*_summary", "get_revenue_summary", True),
        ("get_*_summary", "get_revenue", False),
    ],
)
def test_a_star_stands_for_any_characters(pattern: str, name: str, expected: bool) -> None:
    assert fits(pattern, name) is expected


def test_a_tool_gets_its_own_contract_before_that_of_a_pattern() -> None:
    found = ContractLookup.of(parse_written(FILE))
    assert found["list_orders"].name == "list_orders"
    assert found["list_orders"].title == "List orders"
    assert found["delete_customer"].side_effect == "destructive"
    assert found["update_customer"].side_effect == "write"
    assert "refund_order" not in found


def test_a_tool_that_two_patterns_fit_is_a_fault() -> None:
    with pytest.raises(
        ContractError, match=r"list_customer: several patterns fit this tool: list_\* .* and \*_customer"
    ):
        ContractLookup.of(parse_written(FILE))["list_customer"]
    bound = bind(parse_written(FILE), {"shop": Offered({"list_customer": "list_customer"})})
    assert bound.governs == {}
    assert "several patterns fit" in bound.ambiguous["shop", "list_customer"]


def test_the_gateway_binds_a_pattern_to_each_tool_and_reports_one_without_any() -> None:
    names = {name: name for name in ("list_orders", "list_plans", "delete_customer")}
    bound = bind(parse_written(FILE), {"shop": Offered(names)})
    assert {key: one.contract.side_effect.value for key, one in bound.governs.items()} == {
        ("shop", "list_orders"): "read",
        ("shop", "list_plans"): "read",
        ("shop", "delete_customer"): "destructive",
    }
    assert not bound.faults
    lonely = bind(parse_written("tools:\n  get_*: {side_effect: read}\n"), {"shop": Offered(names)})
    assert [fault.message for fault in lonely.faults] == ["it matches no tool of any upstream"]


def test_a_pattern_that_fits_tools_of_several_upstreams_binds_none_until_it_names_one() -> None:
    offers = {"a": Offered({"list_x": "a_list_x"}), "b": Offered({"list_y": "b_list_y"})}
    loose = bind(parse_written("tools:\n  list_*: {side_effect: read}\n"), offers)
    assert loose.governs == {}
    assert set(loose.ambiguous) == {("a", "list_x"), ("b", "list_y")}
    tied = bind(parse_written("upstream: b\ntools:\n  list_*: {side_effect: read}\n"), offers)
    assert list(tied.governs) == [("b", "list_y")]


def test_a_fault_in_the_contract_of_a_pattern_has_its_line() -> None:
    with pytest.raises(ContractError, match=r"x\.yaml:2: .*there is no such field"):
        parse_written("tools:\n  list_*: {side_effect: read, risc: low}\n", "x.yaml")


def test_a_server_in_its_own_process_takes_patterns_too(tmp_path: Path) -> None:
    (tmp_path / "contracts.yaml").write_text(FILE, "utf-8")
    assent = Assent(contracts=tmp_path / "contracts.yaml")
    server = MCPServer("shop", extensions=[assent.extension()], log_level="ERROR")
    for name in ("list_orders", "update_customer", "delete_customer"):
        server.tool(name=name)(lambda: "done")
    assent.apply(server)
    hints = {tool["name"]: tool["annotations"]["readOnlyHint"] for tool in tools_of(server)}
    assert hints == {"list_orders": True, "update_customer": False, "delete_customer": False}
