"""Rules about the hint readOnlyHint."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import Edit, put
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check_read_only_and_destructive(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.read_only and tool.claims.destructive:
        yield RawFinding("it claims to be read-only and destructive at once", "/annotations/destructiveHint")


def mend_read_only_and_destructive(tool: LintedTool, at: str) -> Iterator[Edit]:
    if tool.contract is None and not tool.inference.read_only and "readOnlyHint" in tool.annotations:
        yield put(False, "annotations", "readOnlyHint")


READ_ONLY_AND_DESTRUCTIVE = Rule(
    name="read-only-and-destructive",
    severity="error",
    summary="A tool claims to be read-only and destructive at once.",
    why="One of the two is wrong. Hosts that look at readOnlyHint first run it without asking.",
    fix="Decide which it is. A tool that only reads destroys nothing.",
    each=check_read_only_and_destructive,
    mend=mend_read_only_and_destructive,
    flags=({"name": "purge_cache", "annotations": {"readOnlyHint": True, "destructiveHint": True}},),
    passes=(
        {"name": "purge_cache", "annotations": {"readOnlyHint": False, "destructiveHint": True}},
        {"name": "list_cache", "annotations": {"readOnlyHint": True, "destructiveHint": False}},
        {"name": "list_cache", "annotations": {"readOnlyHint": True}},
    ),
)


_IN_A_CONTRACT = "Correct `side_effect:`; or, if the tool really only reads, the words that say otherwise."


def check_read_only_contradicted(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.read_only and not tool.inference.read_only and tool.confident:
        yield RawFinding(
            f"it claims to be read-only, but {tool.because}: by its definition it is of tier {tool.inference.tier}",
            "side_effect" if tool.contract else "/annotations/readOnlyHint",
            _IN_A_CONTRACT if tool.contract else "",
        )


def mend_read_only_contradicted(tool: LintedTool, at: str) -> Iterator[Edit]:
    if tool.contract is not None:
        yield put(tool.inference.tier, "side_effect")
    elif "readOnlyHint" in tool.annotations:
        yield put(False, "annotations", "readOnlyHint")


READ_ONLY_CONTRADICTED = Rule(
    name="read-only-contradicted",
    severity="error",
    summary="A tool claims to be read-only, but its name, text or parameters say that it acts.",
    why="Every host that reads hints runs a read-only tool without asking. A wrong claim removes the person "
    "everywhere: it is the one hint that must never be wrong.",
    fix="Set readOnlyHint to false; or, if the tool really only reads, correct the words that say otherwise.",
    each=check_read_only_contradicted,
    mend=mend_read_only_contradicted,
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


def check_read_only_unclaimed(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.read_only is False and tool.inference.read_only and tool.confident and tool.contract is None:
        yield RawFinding(
            f"it says that it is not read-only, but {tool.because}: every host will ask before it runs",
            "/annotations/readOnlyHint",
        )


READ_ONLY_UNCLAIMED = Rule(
    name="read-only-unclaimed",
    severity="note",
    summary="A tool that by its definition only reads says that it does not.",
    why="People are asked about calls that change nothing, and learn to say yes without reading.",
    fix="Set readOnlyHint to true; or say in the description what the tool changes.",
    each=check_read_only_unclaimed,
    flags=({"name": "list_orders", "description": "Lists orders.", "annotations": {"readOnlyHint": False}},),
    passes=(
        {"name": "list_orders", "description": "Lists orders.", "annotations": {"readOnlyHint": True}},
        {"name": "create_order", "description": "Creates an order.", "annotations": {"readOnlyHint": False}},
        {"contracts": {"get_report": {"side_effect": "compute", "description": "Gets a report."}}},
    ),
)


def check_read_only_unclear(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.read_only and not tool.inference.read_only and not tool.confident:
        yield RawFinding(
            "it claims to be read-only, and nothing in its name, text or parameters supports that",
            "/annotations/readOnlyHint",
        )


READ_ONLY_UNCLEAR = Rule(
    name="read-only-unclear",
    severity="note",
    summary="A tool claims to be read-only, and its definition does not say what it does.",
    why="A person who reviews the claim has only the definition to go by.",
    fix="Begin the description with what the tool returns: Lists, Returns, Searches.",
    each=check_read_only_unclear,
    flags=({"name": "frobnicator", "annotations": {"readOnlyHint": True}},),
    passes=(
        {"name": "frobnicator", "description": "Returns the frobs.", "annotations": {"readOnlyHint": True}},
        {"name": "frobnicator", "annotations": {"readOnlyHint": False}},
    ),
)
