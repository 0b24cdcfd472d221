"""Rule: readOnlyHint true does not contradict the rest of the definition."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import Edit, put
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool

_IN_A_CONTRACT = "Correct `side_effect:`; or, if the tool really only reads, the words that say otherwise."


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.read_only and not tool.inference.read_only and tool.confident:
        yield RawFinding(
            f"it claims to be read-only, but {tool.because}: by its definition it is of tier {tool.inference.tier}",
            "side_effect" if tool.contract else "/annotations/readOnlyHint",
            _IN_A_CONTRACT if tool.contract else "",
        )


def mend(tool: LintedTool, at: str) -> Iterator[Edit]:
    if tool.contract is not None:
        yield put(tool.inference.tier, "side_effect")
    elif "readOnlyHint" in tool.annotations:
        yield put(False, "annotations", "readOnlyHint")


RULE = Rule(
    name="read-only-contradicted",
    severity="error",
    summary="A tool claims to be read-only, but its name, text or parameters say that it acts.",
    why="Every host that reads hints runs a read-only tool without asking. A wrong claim removes the person "
    "everywhere: it is the one hint that must never be wrong.",
    fix="Set readOnlyHint to false; or, if the tool really only reads, correct the words that say otherwise.",
    each=check,
    mend=mend,
    flags=(
        {
            "name": "send_email",
            "description": "Sends an email to a recipient.",
            "annotations": {"readOnlyHint": True},
        },
        {
            "name": "list_orders",
            "description": "Cancels an order and deletes its invoice.",
            "annotations": {"readOnlyHint": True},
        },
        {
            "name": "manage_queue",
            "description": "Manages the queue.",
            "inputSchema": {"type": "object", "properties": {"action": {"enum": ["list", "delete"]}}},
            "annotations": {"readOnlyHint": True},
        },
        {"contracts": {"delete_order": {"side_effect": "read", "description": "Deletes an order."}}},
    ),
    passes=(
        {"name": "list_orders", "description": "Lists orders.", "annotations": {"readOnlyHint": True}},
        {"name": "send_email", "description": "Sends an email.", "annotations": {"readOnlyHint": False}},
        {"name": "send_email", "description": "Sends an email."},
    ),
)
