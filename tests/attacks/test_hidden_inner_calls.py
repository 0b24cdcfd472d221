"""The inner call of a meta-tool is not hidden from a guard by another name, place or spelling."""

from __future__ import annotations

from typing import Any

import pytest

from assent.contract.profiles import profile
from assent.contract.reader import read_contract
from assent.core.call import Call
from assent.core.principal import Principal
from assent.core.tool import compile_tool
from assent.errors import SettingsError
from assent.rules.guards import build_guard
from assent.rules.guards.context import Context
from assent.rules.guards.evaluate import objection_to

DELETE = {"name": "delete_file", "arguments": {}}
EACH = {"each": "/calls/*", "tool": "delete_*"}


def is_denied(arguments: dict[str, Any], tool: str = "invoke", inner: dict[str, Any] | None = None) -> bool:
    guard = build_guard({"rule": "deny", "match": {"tool": tool, "inner": inner or {"tool": "delete_*"}}})
    contract = read_contract("hub_invoke", {"side_effect": "write"})
    called = compile_tool(contract, profile=profile("spec"), upstream="hub", wire_name="invoke")
    call = Call(Principal("ci", "agent"), called, arguments, b"{}", "fingerprint", "digest")
    assert guard.applies(call)
    return objection_to(guard, arguments, Context.of(call, 0.0)) is not None


@pytest.mark.parametrize("pattern", ["invoke", "hub_invoke", "hub_*"])
def test_a_meta_tool_inside_is_known_by_each_of_its_names(pattern: str) -> None:
    for name in ("invoke", "hub_invoke", "Invoke"):
        assert is_denied({"name": name, "arguments": DELETE}, pattern)
    assert not is_denied({"name": "list_files", "arguments": {}}, pattern)


@pytest.mark.parametrize(
    "arguments",
    [{}, {"tool": "delete_file"}, {"Name": "delete_file"}, {"name": "list_files", "NAME": "delete_file"}],
    ids=["nothing", "another member", "another spelling", "two spellings"],
)
def test_a_name_that_is_not_where_the_guard_looks_is_objected_to(arguments: dict[str, Any]) -> None:
    assert is_denied(arguments)


def test_arguments_in_two_spellings_are_objected_to() -> None:
    inner = {"name": "invoke", "arguments": {"name": "list_files"}, "Arguments": DELETE}
    assert is_denied(inner)


def test_calls_that_are_not_a_list_are_objected_to() -> None:
    assert not is_denied({"calls": []}, inner=EACH)
    assert not is_denied({"calls": [{"name": "list_files"}]}, inner=EACH)
    for calls in ({"calls": '[{"name": "delete_file"}]'}, {"Calls": [DELETE]}, {}, {"calls": {}}):
        assert is_denied(calls, inner=EACH)


def test_a_guard_on_inner_calls_names_the_meta_tool() -> None:
    with pytest.raises((ValueError, SettingsError), match="needs `tool`"):
        build_guard({"rule": "deny", "match": {"inner": {"tool": "delete_*"}}})
