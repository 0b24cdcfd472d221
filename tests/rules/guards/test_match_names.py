"""Which names of a tool a rule's pattern is compared with."""

from __future__ import annotations

import pytest

from assent.contract.profiles import profile
from assent.contract.reader import read_contract
from assent.core.call import Call
from assent.core.match import Match
from assent.core.principal import Principal
from assent.core.tool import compile_tool


def call_of(name: str) -> Call:
    contract = read_contract(name, {"side_effect": "external_spend"})
    tool = compile_tool(contract, profile=profile("spec"), upstream="bank", wire_name="pay")
    return Call(Principal("ci", "agent"), tool, {}, b"{}", "fingerprint", "digest")


@pytest.mark.parametrize("canonical", ["pay", "bank_pay"])
@pytest.mark.parametrize("pattern", ["pay", "bank_pay", "bank_*", "p*"])
def test_a_second_upstream_changes_no_rule(canonical: str, pattern: str) -> None:
    """With one upstream the tool is listed as `pay`, with two as `bank_pay`."""
    assert Match(tool=pattern).holds(call_of(canonical))


def test_another_tool_is_not_matched() -> None:
    assert not Match(tool="refund").holds(call_of("bank_pay"))
    assert not Match(tool="shop_*").holds(call_of("bank_pay"))
