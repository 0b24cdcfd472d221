"""Finds the contract of a recorded call: the one that is written now, or what the log says about the tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from assent.checks.history.recorded_call import RecordedCall
from assent.contract.model import Contract
from assent.contract.reader import read_contract
from assent.core.catalogue import Catalogue
from assent.core.tool import Tool, compile_tool

_AS_RECORDED = {"by": "none", "because": "No person was asked when it was recorded."}


class RecordedTools:
    """The tools of recorded calls.

    A tool without a written contract gets the tier and the risk that the log has, and asks a person where one was
    asked: guards, limits and policies are replayed, its own contract is not.
    """

    def __init__(self, written: Catalogue, prefix_of: Callable[[str], str], has_test: Callable[[str], bool]) -> None:
        self._written, self._prefix_of, self._has_test = written, prefix_of, has_test
        self._found: dict[tuple[Any, ...], tuple[Tool, bool]] = {}

    def tool_of(self, recorded: RecordedCall) -> tuple[Tool, bool]:
        """The tool, and whether its contract is a written one."""
        facts = recorded.facts
        asks, rehearses = recorded.decision.ending == "asks", facts.get("dry_run", False)
        place = (facts["tool"], facts.get("upstream", ""), facts["tier"], facts["risk"], asks, rehearses)
        if place not in self._found:
            self._found[place] = self._find(facts, asks, rehearses)
        return self._found[place]

    def _find(self, facts: Mapping[str, Any], asks: bool, rehearses: bool) -> tuple[Tool, bool]:
        name, upstream = facts["tool"], facts.get("upstream", "")
        own = name.removeprefix(self._prefix_of(upstream))
        written, has_test = self._written.tools.get(name), self._has_test(upstream)
        if written is not None:
            return replace(written, upstream=upstream, wire_name=own, has_test=has_test), True
        unbound = self._written.tools.get(own)
        if unbound is None:
            contract = _recorded_contract(facts, asks, rehearses)
            return compile_tool(contract, upstream=upstream, wire_name=own, has_test=has_test), False
        contract = unbound.contract.model_copy(update={"name": name})
        definition = unbound.definition
        return compile_tool(contract, upstream=upstream, wire_name=own, definition=definition, has_test=has_test), True


def _recorded_contract(facts: Mapping[str, Any], asks: bool, rehearses: bool) -> Contract:
    """A contract of the recorded tier and risk that asks a person exactly if one was asked."""
    fields: dict[str, Any] = {"side_effect": facts["tier"], "risk": facts["risk"]}
    fields["confirmation"] = {"by": "user"} if asks else _AS_RECORDED
    fields |= {"autonomous": False} if asks else {}
    fields |= {"dry_run": {"mode": "offered"}} if rehearses else {}
    fields |= {"idempotency": {"key": "auto"}} if facts["tier"] == "external_spend" else {}
    return read_contract(facts["tool"], fields)
