"""Rules of Anthropic's connector directory."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import Edit, put, set_true
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool
from assent.contract.infer.features.parameters import read_parameters
from assent.contract.infer.lexicon import READING

_HARMLESS = ("read", "compute")


def check_anthropic_destructive(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.destructive is not False or tool.claims.read_only or not tool.confident:
        return
    if tool.tier not in _HARMLESS and not tool.inference.read_only:
        yield RawFinding("destructiveHint is false, but it changes something", "/annotations/destructiveHint")


ANTHROPIC_DESTRUCTIVE = Rule(
    name="anthropic-destructive",
    severity="error",
    summary="For Anthropic's connector directory every tool that changes or deletes data is destructive.",
    why="Claude always asks before a destructive tool, and the directory wants every change to be asked about; the "
    "specification's narrower meaning, in which adding destroys nothing, is not the one reviewers use.",
    fix="Set destructiveHint to true.",
    profiles=("anthropic",),
    each=check_anthropic_destructive,
    mend=set_true,
    flags=(
        {
            "name": "create_note",
            "description": "Creates a note.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
    ),
    passes=(
        {
            "name": "create_note",
            "description": "Creates a note.",
            "annotations": {"readOnlyHint": False, "destructiveHint": True},
        },
        {
            "name": "list_notes",
            "description": "Lists notes.",
            "annotations": {"readOnlyHint": True, "destructiveHint": False},
        },
        {"contracts": {"render_map": {"side_effect": "compute", "description": "Renders a map."}}},
        {"contracts": {"create_note": {"side_effect": "write", "description": "Creates a note."}}},
    ),
)


def check_anthropic_hints(tool: LintedTool) -> Iterator[RawFinding]:
    claims = tool.claims
    if claims.read_only is None and claims.destructive is None:
        yield RawFinding("it has neither readOnlyHint nor destructiveHint", "/annotations")
    elif not claims.read_only and claims.destructive is None:
        yield RawFinding("it is not read-only and has no destructiveHint", "/annotations/destructiveHint")


ANTHROPIC_HINTS = Rule(
    name="anthropic-hints",
    severity="error",
    summary="Anthropic's connector directory wants readOnlyHint: true, or destructiveHint, on every tool.",
    why="A submission with tools that say neither is rejected.",
    fix="Set readOnlyHint to true where the tool only reads, and destructiveHint everywhere else.",
    profiles=("anthropic",),
    each=check_anthropic_hints,
    flags=({"name": "list_notes"}, {"name": "create_note", "annotations": {"readOnlyHint": False}}),
    passes=(
        {"name": "list_notes", "annotations": {"readOnlyHint": True}},
        {"name": "create_note", "annotations": {"destructiveHint": False}},
    ),
)


_SAFE = {"GET", "HEAD", "OPTIONS"}


def check_anthropic_mixed(tool: LintedTool) -> Iterator[RawFinding]:
    choices = read_parameters(tool.definition.get("inputSchema")).choices
    reads = [choice.verb for choice in choices if choice.kind in READING]
    acts = [choice.verb for choice in choices if choice.kind not in READING and choice.certain]
    if reads and acts:
        yield RawFinding(f"it can {reads[0]} and {acts[0]}, as an argument says", "/inputSchema")
        return
    for field in tool.inputs:
        offered = {str(value).upper() for part in field.options for value in part.get("enum") or ()}
        if field.plain in ("method", "http_method", "verb") and offered & _SAFE and offered - _SAFE:
            yield RawFinding(f"{field.name} offers safe and unsafe HTTP methods", f"/inputSchema{field.pointer}")


ANTHROPIC_MIXED = Rule(
    name="anthropic-mixed",
    severity="error",
    summary="Anthropic's connector directory wants reading and writing in separate tools.",
    why="One tool has one set of hints: if it mixes, either reads are asked about or writes are not.",
    fix="Split it: one tool that reads, others that write.",
    profiles=("anthropic",),
    each=check_anthropic_mixed,
    flags=(
        {
            "name": "notes",
            "inputSchema": {"type": "object", "properties": {"action": {"enum": ["list", "get", "delete"]}}},
        },
        {"name": "api", "inputSchema": {"type": "object", "properties": {"method": {"enum": ["GET", "POST"]}}}},
    ),
    passes=(
        {"name": "notes", "inputSchema": {"type": "object", "properties": {"action": {"enum": ["list", "get"]}}}},
        {"name": "notes", "inputSchema": {"type": "object", "properties": {"order": {"enum": ["asc", "desc"]}}}},
    ),
)


def check_anthropic_name(tool: LintedTool) -> Iterator[RawFinding]:
    if len(tool.name) > 64:
        yield RawFinding(f"the name has {len(tool.name)} characters; 64 are allowed", "/name")


ANTHROPIC_NAME = Rule(
    name="anthropic-name",
    severity="error",
    summary="Anthropic's connector directory allows names of at most 64 characters.",
    why="A submission with longer names is rejected.",
    fix="Shorten the name.",
    profiles=("anthropic",),
    each=check_anthropic_name,
    flags=({"name": "a" * 65},),
    passes=({"name": "a" * 64},),
)


def check_anthropic_title(tool: LintedTool) -> Iterator[RawFinding]:
    inside = tool.annotations.get("title")
    if not (isinstance(inside, str) and inside.strip()):
        yield RawFinding("annotations.title is missing", "/annotations/title")
    if not tool.title.strip():
        yield RawFinding("title is missing", "/title")


def mend_anthropic_title(tool: LintedTool, at: str) -> Iterator[Edit]:
    inside = tool.annotations.get("title")
    if tool.contract is None and at == "/title" and isinstance(inside, str) and inside.strip():
        yield put(inside, "title")
    elif tool.contract is None and at != "/title" and tool.title.strip():
        yield put(tool.title, "annotations", "title")


ANTHROPIC_TITLE = Rule(
    name="anthropic-title",
    severity="error",
    summary="Anthropic's connector directory wants a title on every tool; in both places it is seen everywhere.",
    why="A submission with tools that have no title is rejected.",
    fix="Write the same title in `title` and in `annotations.title`.",
    profiles=("anthropic",),
    each=check_anthropic_title,
    mend=mend_anthropic_title,
    flags=({"name": "list_notes"}, {"name": "list_notes", "title": "List notes"}),
    passes=({"name": "list_notes", "title": "List notes", "annotations": {"title": "List notes"}},),
)
