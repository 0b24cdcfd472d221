"""Are the hints written under the names the specification gives them?"""

from __future__ import annotations

from collections.abc import Iterator

from assent.lint.change import Change, remove, rename
from assent.lint.guarding import deserved
from assent.lint.rule import Rule, Said
from assent.lint.target import Subject


def check(tool: Subject) -> Iterator[Said]:
    for name in tool.claims.foreign:
        yield Said(
            f"the hint is called {name}Hint; hosts do not read {name}",
            f"/annotations/{name}",
            f"Rename it to {name}Hint.",
        )


def mend(tool: Subject, at: str) -> Iterator[Change]:
    foreign = at.rpartition("/")[2]
    name, value = f"{foreign}Hint", tool.annotations.get(foreign)
    if tool.contract is not None or not isinstance(value, bool):
        return
    if tool.annotations.get(name) is value:
        yield remove("annotations", foreign)
    elif name not in tool.annotations and deserved(tool, name, value):
        yield rename(name, "annotations", foreign)


RULE = Rule(
    name="foreign-hint-names",
    severity="warning",
    summary="A hint has a name that hosts do not read.",
    why="`readOnly` looks like `readOnlyHint` and is dropped without a word, so the defaults hold.",
    fix="Write readOnlyHint, destructiveHint, idempotentHint and openWorldHint.",
    each=check,
    mend=mend,
    flags=({"name": "list_notes", "annotations": {"readOnly": True}},),
    passes=({"name": "list_notes", "annotations": {"readOnlyHint": True}},),
)
