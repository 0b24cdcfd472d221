"""Rule: a contract names the arguments that select many things."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.fields import Field, selection
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
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

RULE = Rule(
    name="selection-undeclared",
    severity="warning",
    summary="An agent may call a tool alone that can select many things, and its contract does not say so.",
    why="`[]`, `*` or thousands of ids then run without a question.",
    fix="Name the argument under `selects:`, and set `bulk:` to the number that needs no question.",
    each=check,
    flags=({"contracts": {"close_tasks": _CLOSES}},),
    passes=(
        {"contracts": {"close_tasks": {**_CLOSES, "selects": ["ids"], "bulk": 20}}},
        {"contracts": {"close_tasks": {**_CLOSES, "risk": "high"}}},
        {"contracts": {"list_tasks": {**_CLOSES, "side_effect": "read"}}},
    ),
)
