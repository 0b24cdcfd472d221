"""Rule: openWorldHint false does not contradict the rest of the definition."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    inference = tool.inference
    if tool.claims.open_world is False and inference.labels.public_sink and inference.open_world and tool.confident:
        yield RawFinding(
            "openWorldHint is false, but by its definition it carries data to others", "/annotations/openWorldHint"
        )


RULE = Rule(
    name="open-world-contradicted",
    severity="note",
    summary="A tool claims a closed world, but its definition says that it sends or publishes.",
    why="Hosts and policies use openWorldHint to see where data leaves.",
    fix="Set openWorldHint to true, or say in the description that nobody outside the account is reached.",
    each=check,
    flags=(
        {
            "name": "send_email",
            "description": "Sends an email to any recipient.",
            "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}, "body": {"type": "string"}}},
            "annotations": {"readOnlyHint": False, "openWorldHint": False},
        },
    ),
    passes=(
        {"name": "list_notes", "description": "Lists notes.", "annotations": {"openWorldHint": False}},
        {"name": "send_email", "description": "Sends an email.", "annotations": {"openWorldHint": True}},
    ),
)
