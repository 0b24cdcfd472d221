"""Rule: openWorldHint does not differ from all other tools of the server."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import Target

_ENOUGH = 10
_MAJORITY = 0.9


def check(target: Target) -> Iterator[tuple[str, RawFinding]]:
    said = [(tool, tool.claims.open_world) for tool in target.subjects if tool.claims.open_world is not None]
    if len(said) < _ENOUGH:
        return
    yes = sum(1 for _, one in said if one)
    usual = yes * 2 > len(said)
    agreeing = yes if usual else len(said) - yes
    if agreeing == len(said) or agreeing < _MAJORITY * len(said):
        return
    for tool, one in said:
        if one is not usual and tool.inference.open_world is not one:
            text = f"openWorldHint is {str(one).lower()}; {agreeing} of {len(said)} tools here say the opposite"
            yield tool.name, RawFinding(text, "/annotations/openWorldHint")


def _tools(count: int, **odd: bool) -> list[dict[str, object]]:
    usual: list[dict[str, object]] = [
        {"name": f"list_{n}", "description": "Lists.", "annotations": {"openWorldHint": False}} for n in range(count)
    ]
    return usual + [{"name": name, "annotations": {"openWorldHint": value}} for name, value in odd.items()]


RULE = Rule(
    name="open-world-varies",
    severity="note",
    summary="One tool's openWorldHint differs from nearly all others of its server, and its definition gives "
    "no reason.",
    why="Whether a server reaches the outside is nearly always the same for all its tools.",
    fix="Say the same as the others, or say in the description whom this tool reaches.",
    whole=check,
    flags=({"tools": _tools(12, list_labels=True)},),
    passes=({"tools": _tools(12)}, {"tools": _tools(3, list_labels=True)}),
)
