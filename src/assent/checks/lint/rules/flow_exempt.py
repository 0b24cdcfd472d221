"""Rule: tools that flow control leaves out are shown with the reason."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    flow = tool.contract.flow if tool.contract is not None else None
    if flow is not None and flow.exempt and tool.contract is not None and tool.contract.side_effect != "read":
        yield RawFinding(f"flow control does not check it, because: {flow.exempt}", "flow.exempt")


RULE = Rule(
    name="flow-exempt",
    severity="note",
    summary="A contract leaves a tool with side effects out of flow control.",
    why="Values from untrusted content reach this tool unseen. A reviewer must be able to check each exception.",
    fix="Remove `flow.exempt`, or say which arguments do not matter with `flow.ignored`.",
    each=check,
    flags=({"contracts": {"send_mail": {"side_effect": "write", "flow": {"exempt": "It goes to us only."}}}},),
    passes=(
        {"contracts": {"send_mail": {"side_effect": "write", "flow": {"recipients": ["/to"]}}}},
        {"contracts": {"list_mails": {"side_effect": "read", "flow": {"exempt": "It only reads."}}}},
    ),
)
