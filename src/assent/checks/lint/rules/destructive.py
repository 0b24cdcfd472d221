"""Rules about destructive and critical tools."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import Edit, remove, set_true
from assent.checks.lint.fields import presses, restarts
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool
from assent.contract.contradictions import exception_of


def check_destructive_contradicted(tool: LintedTool) -> Iterator[RawFinding]:
    if presses(tool) or restarts(tool):
        return
    if tool.claims.destructive is False and not tool.claims.read_only and tool.inference.destructive and tool.confident:
        reasons = tool.inference.reasons
        why = reasons[1] if len(reasons) > 1 else tool.because
        fix = "Correct `side_effect:`; or the words, if nothing can be lost." if tool.contract else ""
        yield RawFinding(f"destructiveHint is false, but {why}", "/annotations/destructiveHint", fix)


DESTRUCTIVE_CONTRADICTED = Rule(
    name="destructive-contradicted",
    severity="error",
    summary="A tool claims not to be destructive, but its name, text or parameters say that it loses something.",
    why="Vendors differ on whether an update destroys. On deleting, revoking, cancelling and running "
    "anything at all they do not: hosts ask about those, and this claim stops them.",
    fix="Set destructiveHint to true; if nothing can be lost, say so in the description.",
    each=check_destructive_contradicted,
    mend=set_true,
    flags=(
        {
            "name": "delete_order",
            "description": "Deletes an order.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
        {
            "name": "bulk_edit",
            "description": "Edits many records.",
            "inputSchema": {"type": "object", "properties": {"operation": {"enum": ["update", "delete"]}}},
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
    ),
    passes=(
        {
            "name": "tap",
            "description": "Taps the screen.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
        {
            "name": "restart_service",
            "description": "Restarts a service.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
        {
            "name": "delete_order",
            "description": "Deletes an order.",
            "annotations": {"readOnlyHint": False, "destructiveHint": True},
        },
        {
            "name": "update_order",
            "description": "Updates an order.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
    ),
)


def check_destructive_overstated(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.destructive and not tool.claims.read_only and tool.inference.read_only and tool.confident:
        yield RawFinding(f"destructiveHint is true, but {tool.because}", "/annotations/destructiveHint")


DESTRUCTIVE_OVERSTATED = Rule(
    name="destructive-overstated",
    severity="note",
    summary="A tool that by its definition only reads is marked destructive.",
    why="A warning on what is harmless takes the weight from the warnings that matter.",
    fix="Set destructiveHint to false and readOnlyHint to true; or say in the description what can be lost.",
    each=check_destructive_overstated,
    flags=(
        {
            "name": "search_notes",
            "description": "Searches notes.",
            "annotations": {"readOnlyHint": False, "destructiveHint": True},
        },
    ),
    passes=(
        {
            "name": "drop_notes",
            "description": "Drops all notes.",
            "annotations": {"readOnlyHint": False, "destructiveHint": True},
        },
    ),
)


def check_destructive_without_confirmation(tool: LintedTool) -> Iterator[RawFinding]:
    contract = tool.contract
    if contract is None or contract.side_effect != "destructive":
        return
    if contract.confirmation.by == "none" or contract.autonomous:
        yield RawFinding("it destroys, and nobody is asked", "confirmation.by")


def mend_destructive_without_confirmation(tool: LintedTool, at: str) -> Iterator[Edit]:
    """Without a `confirmation:` of its own, the one that its risk asks for holds."""
    if tool.contract is not None and tool.contract.confirmation.by == "none":
        yield remove("confirmation")


DESTRUCTIVE_WITHOUT_CONFIRMATION = Rule(
    name="destructive-without-confirmation",
    severity="warning",
    summary="A contract lets a destructive tool run without asking anybody.",
    why="What is lost cannot be got back; the question is the last moment at which a person can stop it.",
    fix="Say `confirmation: {by: user}`, or `by: approver` where it must be proved.",
    each=check_destructive_without_confirmation,
    mend=mend_destructive_without_confirmation,
    flags=(
        {
            "contracts": {
                "delete_draft": {
                    "side_effect": "destructive",
                    "confirmation": {"by": "none", "because": "Only drafts."},
                }
            }
        },
        {"contracts": {"delete_draft": {"side_effect": "destructive", "risk": "low"}}},
    ),
    passes=({"contracts": {"delete_draft": {"side_effect": "destructive"}}},),
)


def check_critical_without_confirmation(tool: LintedTool) -> Iterator[RawFinding]:
    exception = exception_of(tool.contract) if tool.contract is not None else None
    if exception is not None:
        yield RawFinding(f"exception: {exception}", "confirmation.by")


def mend_critical_without_confirmation(tool: LintedTool, at: str) -> Iterator[Edit]:
    """Without a `confirmation:` of its own, the one that its risk asks for applies."""
    yield remove("confirmation")


_NO_PERSON = {"by": "none", "because": "The bank asks."}
CRITICAL_WITHOUT_CONFIRMATION = Rule(
    name="critical-without-confirmation",
    severity="warning",
    summary="A contract lets a tool of critical risk run without asking a person.",
    why="A wrong call of critical risk cannot be undone. A reviewer must be able to check each exception.",
    fix="Remove `confirmation:`, or keep it and say why: `# assent: allow critical-without-confirmation because ...`.",
    each=check_critical_without_confirmation,
    mend=mend_critical_without_confirmation,
    flags=(
        {"contracts": {"pay_invoice": {"side_effect": "external_spend", "confirmation": _NO_PERSON}}},
        {"contracts": {"pay_invoice": {"side_effect": "write", "risk": "critical", "confirmation": _NO_PERSON}}},
    ),
    passes=(
        {"contracts": {"pay_invoice": {"side_effect": "external_spend"}}},
        {"contracts": {"share_file": {"side_effect": "share_export", "confirmation": _NO_PERSON}}},
    ),
)


def check_press_called_harmless(tool: LintedTool) -> Iterator[RawFinding]:
    claims = tool.claims
    if presses(tool) and tool.confident and claims.destructive is False and not claims.read_only:
        yield RawFinding(
            "destructiveHint is false, but what a press does depends on the screen", "/annotations/destructiveHint"
        )


PRESS_CALLED_HARMLESS = Rule(
    name="press-called-harmless",
    severity="warning",
    summary="A tool that clicks, taps or types on a live screen claims that it cannot destroy anything.",
    why="The button may be the one that deletes or pays, and typed text may be sent. Vendors differ on it, so this is "
    "less than an error; a host that believes the claim does not ask.",
    fix="Set destructiveHint to true; or offer the presses that are safe as tools of their own.",
    each=check_press_called_harmless,
    flags=(
        {
            "name": "type_keys",
            "description": "Types text into the focused element.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
        {
            "name": "tap",
            "description": "Taps the screen.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
    ),
    passes=(
        {
            "name": "type_keys",
            "description": "Types text into the focused element.",
            "annotations": {"readOnlyHint": False, "destructiveHint": True},
        },
        {
            "name": "scroll",
            "description": "Scrolls the screen.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
        {
            "name": "delete_order",
            "description": "Deletes an order.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
    ),
)
