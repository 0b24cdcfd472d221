"""Rules about hints: present, complete, well-formed, and as the contract says."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import Edit, explicit_default, is_safe_hint, put, remove, rename, write_default
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool
from assent.contract.profiles import WIRE_NAMES


def check_annotations_against_contract(tool: LintedTool) -> Iterator[RawFinding]:
    for message in tool.contradictions:
        yield RawFinding(message, "/annotations")


_WIPE = {"name": "wipe", "annotations": {"readOnlyHint": True}}
_SAID = "readOnlyHint is true in its annotations and false by its contract"

ANNOTATIONS_AGAINST_CONTRACT = Rule(
    name="annotations-against-contract",
    severity="error",
    summary="The annotations that a server's author wrote on a tool contradict its contract.",
    why="Only the contract reaches the wire. One of the two is wrong, and the server refuses to start.",
    fix="Remove the hint from the annotations, or correct the contract.",
    each=check_annotations_against_contract,
    flags=({"tools": [_WIPE], "beside": {"wipe": {"contradictions": (_SAID,)}}},),
    passes=(_WIPE,),
)


_MEANT = {wire.removesuffix("Hint").lower(): wire for wire in WIRE_NAMES.values()}


def check_foreign_hint_names(tool: LintedTool) -> Iterator[RawFinding]:
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


def mend_foreign_hint_names(tool: LintedTool, at: str) -> Iterator[Edit]:
    place, _, foreign = at.rpartition("/")
    name, value = meant(foreign), tool.annotations.get(foreign)
    if tool.contract is not None or place != "/annotations" or name is None or not isinstance(value, bool):
        return
    if tool.annotations.get(name) is value:
        yield remove("annotations", foreign)
    elif name not in tool.annotations and is_safe_hint(tool, name, value):
        yield rename(name, "annotations", foreign)


FOREIGN_HINT_NAMES = Rule(
    name="foreign-hint-names",
    severity="warning",
    summary="A hint has a name that hosts do not read.",
    why="`readOnly` looks like `readOnlyHint` and is dropped without a word, so the defaults hold.",
    fix="Write readOnlyHint, destructiveHint, idempotentHint and openWorldHint.",
    each=check_foreign_hint_names,
    mend=mend_foreign_hint_names,
    flags=(
        {"name": "list_notes", "annotations": {"readOnly": True}},
        {"name": "list_notes", "annotations": {"read_only_hint": True}},
        {"name": "list_notes", "annotations": {"readonlyHint": True}},
        {"name": "list_notes", "readOnlyHint": True},
    ),
    passes=({"name": "list_notes", "annotations": {"readOnlyHint": True, "title": "Notes", "x-audience": "all"}},),
)


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


HINT_NOT_BOOLEAN = Rule(
    name="hint-not-boolean",
    severity="error",
    summary="A hint is something other than true or false.",
    why='Hosts drop what is no boolean, some refuse the whole list of tools, and a text such as "false" counts as true '
    "where it is read carelessly.",
    fix="Write true or false without quotes, or leave the hint out.",
    each=check_hint_not_boolean,
    mend=mend_hint_not_boolean,
    flags=(
        {"name": "list_notes", "annotations": {"readOnlyHint": "true"}},
        {"name": "list_notes", "annotations": {"openWorldHint": None}},
        {"name": "list_notes", "annotations": ["readOnly"]},
    ),
    passes=({"name": "list_notes", "annotations": {"readOnlyHint": True}}, {"name": "list_notes"}),
)


def check_hints_missing(tool: LintedTool) -> Iterator[RawFinding]:
    claims = tool.claims
    if all(said is None for said in (claims.read_only, claims.destructive, claims.idempotent, claims.open_world)):
        guess = "reads only" if tool.inference.read_only else f"is of tier {tool.inference.tier}"
        yield RawFinding(f"it carries no hints; by its definition it {guess}", "/annotations")


def mend_hints_missing(tool: LintedTool, at: str) -> Iterator[Edit]:
    if tool.inference.destructive:
        yield from explicit_default(tool, "readOnlyHint")
        yield from explicit_default(tool, "destructiveHint")


HINTS_MISSING = Rule(
    name="hints-missing",
    severity="warning",
    summary="A tool carries no hints at all.",
    why="A host that follows the specification takes it for destructive, not idempotent and open to the "
    "world, and asks before every call; others guess.",
    fix="Set readOnlyHint, and where it is false destructiveHint, idempotentHint and openWorldHint.",
    each=check_hints_missing,
    mend=mend_hints_missing,
    flags=({"name": "list_orders"}, {"name": "delete_order", "annotations": {"title": "Delete an order"}}),
    passes=({"name": "list_orders", "annotations": {"readOnlyHint": True}},),
)


def check_hints_partial(tool: LintedTool) -> Iterator[RawFinding]:
    claims = tool.claims
    if claims.read_only is None and (claims.destructive is not None or claims.open_world is not None):
        yield RawFinding("readOnlyHint is not set, which means: not read-only", "/annotations/readOnlyHint")
    if claims.read_only is False and claims.destructive is None and tool.contract is None:
        yield RawFinding("destructiveHint is not set, which means: destructive", "/annotations/destructiveHint")


HINTS_PARTIAL = Rule(
    name="hints-partial",
    severity="warning",
    summary="A tool gives some hints and leaves out one that decides.",
    why="An absent hint is not neutral. The specification reads it as: not read-only, destructive, not "
    "idempotent, open to the world.",
    fix="Set it explicitly, even where the default is what you mean.",
    each=check_hints_partial,
    mend=write_default,
    flags=(
        {"name": "create_note", "annotations": {"readOnlyHint": False}},
        {"name": "list_notes", "annotations": {"openWorldHint": False}},
    ),
    passes=(
        {"name": "create_note", "annotations": {"readOnlyHint": False, "destructiveHint": False}},
        {"name": "list_notes", "annotations": {"readOnlyHint": True}},
        {"name": "list_notes"},
        {"contracts": {"create_note": {"side_effect": "write"}}},
    ),
)
