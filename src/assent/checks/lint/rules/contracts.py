"""Rules about contracts."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import Edit, put, remove
from assent.checks.lint.fields import Field, selection
from assent.checks.lint.rule import RawFinding, Rule
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


_WHOLE = {
    "side_effect": "read",
    "description": "Lists notes.",
    "category": "notes",
    "permissions": [],
    "side_effects": [],
    "failure_modes": {},
    "output": {"type": "object"},
}

CONTRACT_INCOMPLETE = Rule(
    name="contract-incomplete",
    severity="error",
    summary="A contract leaves open what an agent should know before a call.",
    why="Nothing said and nothing there look alike. Under mcp-first a server with such a contract does not start, and "
    "the gateway withholds the tool.",
    fix="Write the field; an empty list says that there are none.",
    each=check_contract_incomplete,
    profiles=("mcp-first",),
    flags=({"contracts": {"notes.list": {"side_effect": "read"}}},),
    passes=({"contracts": {"notes.list": _WHOLE}}, {"name": "notes.list"}),
)


def check_contract_missing(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.withheld:
        yield RawFinding(f"the server does not serve it: {tool.withheld}")


CONTRACT_MISSING = Rule(
    name="contract-missing",
    severity="error",
    summary="A server under contract has a tool that it does not serve, because the tool has no contract.",
    why="Its author registered it and callers never see it.",
    fix="Put @contract(side_effect=...) on the function or write it into a contract file, or do not register it.",
    each=check_contract_missing,
    flags=({"tools": [{"name": "list_orders"}], "beside": {"list_orders": {"withheld": "it has no contract"}}},),
    passes=({"name": "list_orders"}, {"contracts": {"list_orders": {"side_effect": "read"}}}),
)


def check_contract_names_unknown(target: Target) -> Iterator[tuple[str, RawFinding]]:
    tools = {one.name: one.compiled for one in target.subjects if one.compiled is not None}
    others = {one.name: "it has no contract" for one in target.subjects if one.compiled is None}
    catalogue = Catalogue(tools, others)
    for name, tool in tools.items():
        for fault in unknown_names(tool, catalogue) or never_rehearsed(tool):
            yield name, RawFinding(fault.message, fault.field.removeprefix(f"{name}."), fault.remedy)


_PAY = {
    "name": "pay",
    "inputSchema": {"type": "object", "properties": {"amount": {"type": "integer"}, "to": {"type": "string"}}},
}
_QUOTE = {"name": "quote", "outputSchema": {"type": "object", "properties": {"price": {"type": "integer"}}}}
_SPENDS = {"side_effect": "external_spend"}

CONTRACT_NAMES_UNKNOWN = Rule(
    name="contract-names-unknown",
    severity="error",
    summary="A contract names an argument, a field of the result or a tool that does not exist.",
    why="Calls would be refused for a reason that is not true, or a price, a secret or a sentence would be missing.",
    fix="Correct the name, or remove it.",
    whole=check_contract_names_unknown,
    flags=(
        {"tools": [_PAY], "contracts": {"pay": {**_SPENDS, "cost": {"amount": "/total"}}}},
        {"tools": [_PAY], "contracts": {"pay": {**_SPENDS, "activity": "Paid {amont}"}}},
        {"tools": [_PAY], "contracts": {"pay": {**_SPENDS, "dry_run": {"mode": "required"}}}},
        {"tools": [_PAY, _QUOTE], "contracts": {"pay": {**_SPENDS, "estimate": {"tool": "qoute", "amount": "/price"}}}},
    ),
    passes=(
        {"tools": [_PAY], "contracts": {"pay": {**_SPENDS, "cost": {"amount": "/amount"}, "activity": "Paid {to}"}}},
        {"tools": [_PAY, _QUOTE], "contracts": {"pay": {**_SPENDS, "estimate": {"tool": "quote", "amount": "/price"}}}},
        {"contracts": {"pay": {**_SPENDS, "cost": {"amount": "/total"}}}},
    ),
)


def check_failures_undeclared(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.contract is not None and tool.tier != "read" and not tool.contract.failure_modes:
        yield RawFinding(
            "its contract declares no failure modes: every failure leaves the call in doubt", "failure_modes"
        )


FAILURES_UNDECLARED = Rule(
    name="failures-undeclared",
    severity="note",
    summary="A contract of a tool that acts declares no failure modes.",
    why="Only a declared failure can say that nothing happened. An undeclared one must be taken for unknown, "
    "and a call that is in doubt waits for a person.",
    fix="List the codes under `failure_modes:`, each with its class: no_effect, definite or unknown.",
    each=check_failures_undeclared,
    flags=({"contracts": {"create_note": {"side_effect": "write"}}},),
    passes=(
        {"contracts": {"create_note": {"side_effect": "write", "failure_modes": {"full": {"class": "no_effect"}}}}},
        {"contracts": {"list_notes": {"side_effect": "read"}}},
        {"name": "create_note", "description": "Creates a note."},
    ),
)


def check_flow_exempt(tool: LintedTool) -> Iterator[RawFinding]:
    flow = tool.contract.flow if tool.contract is not None else None
    if flow is not None and flow.exempt and tool.contract is not None and tool.contract.side_effect != "read":
        yield RawFinding(f"flow control does not check it, because: {flow.exempt}", "flow.exempt")


FLOW_EXEMPT = Rule(
    name="flow-exempt",
    severity="note",
    summary="A contract leaves a tool with side effects out of flow control.",
    why="Values from untrusted content reach this tool unseen. A reviewer must be able to check each exception.",
    fix="Remove `flow.exempt`, or say which arguments do not matter with `flow.ignored`.",
    each=check_flow_exempt,
    flags=({"contracts": {"send_mail": {"side_effect": "write", "flow": {"exempt": "It goes to us only."}}}},),
    passes=(
        {"contracts": {"send_mail": {"side_effect": "write", "flow": {"recipients": ["/to"]}}}},
        {"contracts": {"list_mails": {"side_effect": "read", "flow": {"exempt": "It only reads."}}}},
    ),
)


def check_risk_lowered(tool: LintedTool) -> Iterator[RawFinding]:
    contract = tool.contract
    if contract is None:
        return
    usual = DEFAULT_RISK[contract.side_effect]
    if contract.risk < usual:
        yield RawFinding(f"its risk is {contract.risk}; for {contract.side_effect} it is {usual} by itself", "risk")


def mend_risk_lowered(tool: LintedTool, at: str) -> Iterator[Edit]:
    yield remove("risk")


RISK_LOWERED = Rule(
    name="risk-lowered",
    severity="warning",
    summary="A contract lowers the risk below what the side effect has by itself.",
    why="The risk decides whether a person is asked. Lowering it is allowed, and should be somebody's decision.",
    fix="Remove `risk:`, or keep it and say why: `# assent: allow risk-lowered because ...`.",
    each=check_risk_lowered,
    mend=mend_risk_lowered,
    flags=({"contracts": {"delete_draft": {"side_effect": "destructive", "risk": "medium"}}},),
    passes=(
        {"contracts": {"delete_draft": {"side_effect": "destructive"}}},
        {"contracts": {"read_salary": {"side_effect": "read", "risk": "high"}}},
    ),
)


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


_IDS = {"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "string"}}}}
_CLOSES = {"side_effect": "write", "input": _IDS}

SELECTION_UNDECLARED = Rule(
    name="selection-undeclared",
    severity="warning",
    summary="An agent may call a tool alone that can select many things, and its contract does not say so.",
    why="`[]`, `*` or thousands of ids then run without a question.",
    fix="Name the argument under `selects:`, and set `bulk:` to the number that needs no question.",
    each=check_selection_undeclared,
    flags=({"contracts": {"close_tasks": _CLOSES}},),
    passes=(
        {"contracts": {"close_tasks": {**_CLOSES, "selects": ["ids"], "bulk": 20}}},
        {"contracts": {"close_tasks": {**_CLOSES, "risk": "high"}}},
        {"contracts": {"list_tasks": {**_CLOSES, "side_effect": "read"}}},
    ),
)


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


TIER_CONTRADICTED = Rule(
    name="tier-contradicted",
    severity="warning",
    summary="A contract says that a tool writes or computes, but its definition says that it spends or destroys.",
    why="Everything follows from the side effect: risk, confirmation, key, hints.",
    fix="Correct `side_effect:`; or correct the name or description if they say more than the tool does.",
    each=check_tier_contradicted,
    mend=mend_tier_contradicted,
    flags=({"contracts": {"delete_order": {"side_effect": "write", "description": "Deletes an order."}}},),
    passes=(
        {"contracts": {"delete_order": {"side_effect": "destructive", "description": "Deletes an order."}}},
        {"contracts": {"create_order": {"side_effect": "write", "description": "Creates an order."}}},
    ),
)
