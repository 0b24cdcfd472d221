"""Finds annotations on a tool that say something else than the contract on the same tool."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    for message in tool.contradictions:
        yield RawFinding(message, "/annotations")


_WIPE = {"name": "wipe", "annotations": {"readOnlyHint": True}}
_SAID = "readOnlyHint is true in its annotations and false by its contract"

RULE = Rule(
    name="annotations-against-contract",
    severity="error",
    summary="The annotations that a server's author wrote on a tool contradict its contract.",
    why="Only the contract reaches the wire. One of the two is wrong, and the server refuses to start.",
    fix="Remove the hint from the annotations, or correct the contract.",
    each=check,
    flags=({"tools": [_WIPE], "beside": {"wipe": {"contradictions": (_SAID,)}}},),
    passes=(_WIPE,),
)
