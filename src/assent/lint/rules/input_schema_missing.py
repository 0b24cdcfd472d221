"""Does a tool say what it takes?"""

from __future__ import annotations

from collections.abc import Iterator

from assent.lint.change import Change, put
from assent.lint.rule import Rule, Said
from assent.lint.target import Subject


def check(tool: Subject) -> Iterator[Said]:
    if tool.definition.get("inputSchema") is None:
        yield Said("it has no input schema", "/inputSchema")


def mend(tool: Subject, at: str) -> Iterator[Change]:
    if tool.contract is None:
        yield put({"type": "object"}, "inputSchema")


RULE = Rule(
    name="input-schema-missing",
    severity="warning",
    summary="A tool has no input schema.",
    why="The specification requires one; without it any arguments at all are passed on.",
    fix='Declare `inputSchema`; for a tool without arguments {"type": "object", "additionalProperties": false}.',
    each=check,
    mend=mend,
    flags=({"name": "list_notes"},),
    passes=({"name": "list_notes", "inputSchema": {"type": "object"}},),
)
