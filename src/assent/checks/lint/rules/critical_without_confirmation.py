"""Rule: a person is asked before a critical tool runs."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import Edit, remove
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool
from assent.contract.contradictions import exception_of


def check(tool: LintedTool) -> Iterator[RawFinding]:
    exception = exception_of(tool.contract) if tool.contract is not None else None
    if exception is not None:
        yield RawFinding(f"exception: {exception}", "confirmation.by")


def mend(tool: LintedTool, at: str) -> Iterator[Edit]:
    """Without a `confirmation:` of its own, the one that its risk asks for applies."""
    yield remove("confirmation")


_NO_PERSON = {"by": "none", "because": "The bank asks."}
RULE = Rule(
    name="critical-without-confirmation",
    severity="warning",
    summary="A contract lets a tool of critical risk run without asking a person.",
    why="A wrong call of critical risk cannot be undone. A reviewer must be able to check each exception.",
    fix="Remove `confirmation:`, or keep it and say why: `# assent: allow critical-without-confirmation because ...`.",
    each=check,
    mend=mend,
    flags=(
        {"contracts": {"pay_invoice": {"side_effect": "external_spend", "confirmation": _NO_PERSON}}},
        {"contracts": {"pay_invoice": {"side_effect": "write", "risk": "critical", "confirmation": _NO_PERSON}}},
    ),
    passes=(
        {"contracts": {"pay_invoice": {"side_effect": "external_spend"}}},
        {"contracts": {"share_file": {"side_effect": "share_export", "confirmation": _NO_PERSON}}},
    ),
)
