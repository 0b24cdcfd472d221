"""Rule: hints use the names of the specification."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import Edit, is_safe_hint, remove, rename
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool
from assent.contract.profiles import WIRE_NAMES

_MEANT = {wire.removesuffix("Hint").lower(): wire for wire in WIRE_NAMES.values()}


def check(tool: LintedTool) -> Iterator[RawFinding]:
    for name in tool.annotations:
        wire = meant(name)
        if wire is not None and name != wire:
            yield RawFinding(
                f"the hint is called {wire}; hosts do not read {name}", f"/annotations/{name}", f"Rename it to {wire}."
            )
    for name in tool.definition:
        wire = meant(name)
        if wire is not None:
            yield RawFinding(
                f"{name} stands beside the annotations, where hosts do not look",
                f"/{name}",
                f"Move it into `annotations` as {wire}.",
            )


def meant(name: str) -> str | None:
    """The hint that a name means, in whatever spelling: `readOnly`, `read_only_hint`, `ReadonlyHint`."""
    plain = "".join(character for character in str(name)[:40].lower() if character.isalnum())
    return _MEANT.get(plain.removesuffix("hint"))


def mend(tool: LintedTool, at: str) -> Iterator[Edit]:
    place, _, foreign = at.rpartition("/")
    name, value = meant(foreign), tool.annotations.get(foreign)
    if tool.contract is not None or place != "/annotations" or name is None or not isinstance(value, bool):
        return
    if tool.annotations.get(name) is value:
        yield remove("annotations", foreign)
    elif name not in tool.annotations and is_safe_hint(tool, name, value):
        yield rename(name, "annotations", foreign)


RULE = Rule(
    name="foreign-hint-names",
    severity="warning",
    summary="A hint has a name that hosts do not read.",
    why="`readOnly` looks like `readOnlyHint` and is dropped without a word, so the defaults hold.",
    fix="Write readOnlyHint, destructiveHint, idempotentHint and openWorldHint.",
    each=check,
    mend=mend,
    flags=(
        {"name": "list_notes", "annotations": {"readOnly": True}},
        {"name": "list_notes", "annotations": {"read_only_hint": True}},
        {"name": "list_notes", "annotations": {"readonlyHint": True}},
        {"name": "list_notes", "readOnlyHint": True},
    ),
    passes=({"name": "list_notes", "annotations": {"readOnlyHint": True, "title": "Notes", "x-audience": "all"}},),
)
