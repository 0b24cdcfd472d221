"""Rule: OpenAI's reviewer accepts openWorldHint false on this tool."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import set_true
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.open_world is not False or tool.claims.read_only or not tool.confident:
        return
    if tool.tier in ("share_export", "external_spend") or tool.inference.labels.public_sink:
        yield RawFinding(
            "openWorldHint is false, but it changes something outside the account", "/annotations/openWorldHint"
        )


RULE = Rule(
    name="openai-open-world",
    severity="error",
    summary="For OpenAI's app directory sending, publishing, sharing and paying are open to the world.",
    why="Reviewers compare the hint with whether anything outside a private system can change.",
    fix="Set openWorldHint to true.",
    profiles=("openai",),
    each=check,
    mend=set_true,
    flags=(
        {
            "name": "send_email",
            "description": "Sends an email to any recipient.",
            "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}, "body": {"type": "string"}}},
            "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
        },
    ),
    passes=(
        {
            "name": "create_note",
            "description": "Creates a private note.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
        },
    ),
)
