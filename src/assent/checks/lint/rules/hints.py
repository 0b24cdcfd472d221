"""Rules about hints: present, complete, well-formed, and as the contract says."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import Edit, explicit_default, is_safe_hint, put, remove, rename
from assent.checks.lint.rule import DESTRUCTIVE, READ_ONLY, RawFinding
from assent.checks.lint.target import LintedTool
from assent.contract.profiles import WIRE_NAMES


def check_annotations_against_contract(tool: LintedTool) -> Iterator[RawFinding]:
    for message in tool.contradictions:
        yield RawFinding(message, "/annotations")


_MEANT = {wire.removesuffix("Hint").lower(): wire for wire in WIRE_NAMES.values()}


def check_foreign_hint_names(tool: LintedTool) -> Iterator[RawFinding]:
    for name in tool.annotations:
        wire = hint_meant_by(name)
        if wire is not None and name != wire:
            yield RawFinding(
                f"the hint is called {wire}; hosts do not read {name}", f"/annotations/{name}", f"Rename it to {wire}."
            )
    for name in tool.definition:
        wire = hint_meant_by(name)
        if wire is not None:
            yield RawFinding(
                f"{name} stands beside the annotations, where hosts do not look",
                f"/{name}",
                f"Move it into `annotations` as {wire}.",
            )


def hint_meant_by(name: str) -> str | None:
    """The hint that a name means, in whatever spelling: `readOnly`, `read_only_hint`, `ReadonlyHint`."""
    plain = "".join(character for character in str(name)[:40].lower() if character.isalnum())
    return _MEANT.get(plain.removesuffix("hint"))


def mend_foreign_hint_names(tool: LintedTool, at: str) -> Iterator[Edit]:
    place, _, foreign = at.rpartition("/")
    name, value = hint_meant_by(foreign), tool.annotations.get(foreign)
    if tool.contract is not None or place != "/annotations" or name is None or not isinstance(value, bool):
        return
    if tool.annotations.get(name) is value:
        yield remove("annotations", foreign)
    elif name not in tool.annotations and is_safe_hint(tool, name, value):
        yield rename(name, "annotations", foreign)


HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_WORDS = {"true": True, "false": False}


def check_hint_not_boolean(tool: LintedTool) -> Iterator[RawFinding]:
    for hint in HINTS:
        if hint in tool.annotations and not isinstance(tool.annotations[hint], bool):
            yield RawFinding(
                f"{hint} is {str(tool.annotations[hint])[:40]!r}, not true or false", f"/annotations/{hint}"
            )
    given = tool.definition.get("annotations")
    if given is not None and not isinstance(given, dict):
        yield RawFinding("annotations is not an object", "/annotations")


def mend_hint_not_boolean(tool: LintedTool, at: str) -> Iterator[Edit]:
    hint = at.rpartition("/")[2]
    if tool.contract is not None or hint not in HINTS:
        return
    value = _WORDS.get(str(tool.annotations[hint]).strip().lower())
    if tool.annotations[hint] is None:
        yield remove("annotations", hint)
    elif value is not None and is_safe_hint(tool, hint, value):
        yield put(value, "annotations", hint)


def check_hints_missing(tool: LintedTool) -> Iterator[RawFinding]:
    claims = tool.claims
    if all(said is None for said in (claims.read_only, claims.destructive, claims.idempotent, claims.open_world)):
        guess = "reads only" if tool.inference.read_only else f"is of tier {tool.inference.tier}"
        yield RawFinding(f"it carries no hints; by its definition it {guess}", "/annotations")


def mend_hints_missing(tool: LintedTool, at: str) -> Iterator[Edit]:
    if tool.inference.destructive:
        yield from explicit_default(tool, "readOnlyHint")
        yield from explicit_default(tool, "destructiveHint")


def check_hints_partial(tool: LintedTool) -> Iterator[RawFinding]:
    claims = tool.claims
    if claims.read_only is None and (claims.destructive is not None or claims.open_world is not None):
        yield RawFinding("readOnlyHint is not set, which means: not read-only", READ_ONLY)
    if claims.read_only is False and claims.destructive is None and tool.contract is None:
        yield RawFinding("destructiveHint is not set, which means: destructive", DESTRUCTIVE)
