"""Rules about contracts."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import Edit, put, remove
from assent.checks.lint.fields import Field, selection
from assent.checks.lint.rule import RawFinding
from assent.checks.lint.target import LintedTool, Target
from assent.contract.contradictions import missing_fields
from assent.contract.tiers import DEFAULT_RISK, Tier
from assent.core.catalogue import Catalogue
from assent.core.contract_names import never_rehearsed, unknown_names


def check_contract_incomplete(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.contract is None:
        return
    known_elsewhere = {"description", "output"} if tool.partial else set()
    for field in missing_fields(tool.contract, tool.definition):
        if field not in known_elsewhere:
            yield RawFinding(f"its contract does not say its {field.replace('_', ' ')}", field)


def check_contract_missing(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.withheld:
        yield RawFinding(f"the server does not serve it: {tool.withheld}")


def check_all_contract_names_unknown(target: Target) -> Iterator[tuple[str, RawFinding]]:
    tools = {one.name: one.compiled for one in target.subjects if one.compiled is not None}
    others = {one.name: "it has no contract" for one in target.subjects if one.compiled is None}
    catalogue = Catalogue(tools, others)
    for name, tool in tools.items():
        for fault in unknown_names(tool, catalogue) or never_rehearsed(tool):
            yield name, RawFinding(fault.message, fault.field.removeprefix(f"{name}."), fault.remedy)


def check_failures_undeclared(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.contract is not None and tool.tier != "read" and not tool.contract.failure_modes:
        yield RawFinding(
            "its contract declares no failure modes: every failure leaves the call in doubt", "failure_modes"
        )


def check_flow_exempt(tool: LintedTool) -> Iterator[RawFinding]:
    flow = tool.contract.flow if tool.contract is not None else None
    if flow is not None and flow.exempt and tool.contract is not None and tool.contract.side_effect != "read":
        yield RawFinding(f"flow control does not check it, because: {flow.exempt}", "flow.exempt")


def check_risk_lowered(tool: LintedTool) -> Iterator[RawFinding]:
    contract = tool.contract
    if contract is None:
        return
    usual = DEFAULT_RISK[contract.side_effect]
    if contract.risk < usual:
        yield RawFinding(f"its risk is {contract.risk}; for {contract.side_effect} it is {usual} by itself", "risk")


def mend_risk_lowered(tool: LintedTool, at: str) -> Iterator[Edit]:
    yield remove("risk")


def check_selection_undeclared(tool: LintedTool) -> Iterator[RawFinding]:
    contract = tool.contract
    if contract is None or tool.tier in ("read", "compute") or contract.selects or contract.bulk:
        return
    if not contract.autonomous:  # every call is asked about
        return
    found = selection(tool) or _list_of_ids(tool)
    if found is not None:
        message = f"{found.name} can select many things, and no person is asked about a broad selection"
        yield RawFinding(message, "selects", f"Write selects: [{found.name}] and a `bulk:` limit.")


def _list_of_ids(tool: LintedTool) -> Field | None:
    return next((one for one in tool.inputs if one.is_a("array") and one.plain.endswith("ids")), None)


def check_tier_contradicted(tool: LintedTool) -> Iterator[RawFinding]:
    contract, inference = tool.contract, tool.inference
    if contract is None or contract.side_effect == "read" or not tool.confident:
        return
    graver = Tier(inference.tier) > contract.side_effect
    if graver and inference.tier in ("external_spend", "destructive"):
        yield RawFinding(
            f"its contract says {contract.side_effect}, but {tool.because}: {inference.tier}", "side_effect"
        )


def mend_tier_contradicted(tool: LintedTool, at: str) -> Iterator[Edit]:
    yield put(tool.inference.tier, "side_effect")
