"""Rule: a tool with idempotentHint does not add something on every call."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.fields import takes_key
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool
from assent.contract.infer.features.name import read_name

_ADDING = {"add", "append", "comment", "create", "enqueue", "insert", "post", "reply", "send", "submit", "upload"}


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if not tool.claims.idempotent or tool.claims.read_only or tool.contract is not None:
        return
    verb = read_name(tool.name).verb
    if verb in _ADDING and not takes_key(tool) and "already exist" not in tool.description.lower():
        yield RawFinding(
            f"idempotentHint is true, but to {verb} twice usually does it twice", "/annotations/idempotentHint"
        )


RULE = Rule(
    name="idempotent-contradicted",
    severity="note",
    summary="A tool that adds something claims to be idempotent and takes no key to know a repetition by.",
    why="Clients repeat idempotent calls after a lost answer. If the claim is wrong, things happen twice.",
    fix="Set idempotentHint to false, or take an idempotency key, or say in the description what a repetition does.",
    each=check,
    flags=({"name": "send_message", "annotations": {"readOnlyHint": False, "idempotentHint": True}},),
    passes=(
        {"name": "send_message", "annotations": {"readOnlyHint": False, "idempotentHint": False}},
        {"name": "set_status", "annotations": {"readOnlyHint": False, "idempotentHint": True}},
        {
            "name": "create_order",
            "inputSchema": {"type": "object", "properties": {"idempotencyKey": {"type": "string"}}},
            "annotations": {"idempotentHint": True},
        },
    ),
)
