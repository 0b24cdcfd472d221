"""Rule: a tool has hints about its effect."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import Edit, explicit_default
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    claims = tool.claims
    if all(said is None for said in (claims.read_only, claims.destructive, claims.idempotent, claims.open_world)):
        guess = "reads only" if tool.inference.read_only else f"is of tier {tool.inference.tier}"
        yield RawFinding(f"it carries no hints; by its definition it {guess}", "/annotations")


def mend(tool: LintedTool, at: str) -> Iterator[Edit]:
    if tool.inference.destructive:
        yield from explicit_default(tool, "readOnlyHint")
        yield from explicit_default(tool, "destructiveHint")


RULE = Rule(
    name="hints-missing",
    severity="warning",
    summary="A tool carries no hints at all.",
    why="A host that follows the specification takes it for destructive, not idempotent and open to the "
    "world, and asks before every call; others guess.",
    fix="Set readOnlyHint, and where it is false destructiveHint, idempotentHint and openWorldHint.",
    each=check,
    mend=mend,
    flags=({"name": "list_orders"}, {"name": "delete_order", "annotations": {"title": "Delete an order"}}),
    passes=({"name": "list_orders", "annotations": {"readOnlyHint": True}},),
)
