"""Rule: a hint does not contradict the server's other tools of the same kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool, Target

_ENOUGH = 5
_MAJORITY = 0.9
_ALL_BUT_ONE = 0.85


def check(target: Target) -> Iterator[tuple[str, RawFinding]]:
    groups: dict[str, list[tuple[LintedTool, bool]]] = defaultdict(list)
    for tool in target.subjects:
        kind = _kind(tool)
        if kind and tool.claims.destructive is not None and tool.contract is None:
            groups[kind].append((tool, tool.claims.destructive))
    for kind, members in groups.items():
        yes = sum(1 for _, said in members if said)
        usual = yes * 2 > len(members)
        agreeing = yes if usual else len(members) - yes
        share = _ALL_BUT_ONE if agreeing == len(members) - 1 else _MAJORITY
        if len(members) < _ENOUGH or agreeing == len(members) or agreeing < share * len(members):
            continue
        for tool, said in members:
            if said is not usual:
                counted = f"{agreeing} of {len(members)} tools of this server that {kind}"
                yield tool.name, RawFinding(f"destructiveHint is {_word(said)}; {counted} say {_word(usual)}", AT)


AT = "/annotations/destructiveHint"


def _kind(tool: LintedTool) -> str:
    """The kinds on which vendors differ; what deletes has a rule of its own."""
    if tool.claims.read_only or tool.inference.read_only or tool.inference.destructive or not tool.confident:
        return ""
    if tool.inference.overwrites:
        return "change what is there"
    return "only add" if tool.inference.tier == "write" else ""


def _word(said: bool) -> str:
    return "true" if said else "false"


def _tools(*said: bool) -> list[dict[str, object]]:
    return [
        {
            "name": f"update_{noun}",
            "description": f"Updates the {noun}.",
            "annotations": {"readOnlyHint": False, "destructiveHint": one},
        }
        for noun, one in zip(("order", "customer", "note", "invoice", "address", "label", "task"), said, strict=False)
    ]


RULE = Rule(
    name="convention-broken",
    severity="warning",
    summary="A tool is marked otherwise than nearly all tools of its kind on the same server.",
    why="Whether an update or a create is destructive is a matter of convention, and every vendor keeps to "
    "its own. A tool that breaks its server's convention is usually a mistake.",
    fix="Mark it as the others, or say in its description what makes it different.",
    whole=check,
    flags=({"tools": _tools(True, True, True, True, True, True, False)},),
    passes=(
        {"tools": _tools(True, True, True, True, True, True, True)},
        {"tools": _tools(True, True, True, False, False, False, True)},
        {"tools": _tools(True, True, False)},
    ),
)
