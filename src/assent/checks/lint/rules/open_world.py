"""Rules about the hint openWorldHint."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool, Target


def check_open_world_contradicted(tool: LintedTool) -> Iterator[RawFinding]:
    inference = tool.inference
    if tool.claims.open_world is False and inference.labels.public_sink and inference.open_world and tool.confident:
        yield RawFinding(
            "openWorldHint is false, but by its definition it carries data to others", "/annotations/openWorldHint"
        )


OPEN_WORLD_CONTRADICTED = Rule(
    name="open-world-contradicted",
    severity="note",
    summary="A tool claims a closed world, but its definition says that it sends or publishes.",
    why="Hosts and policies use openWorldHint to see where data leaves.",
    fix="Set openWorldHint to true, or say in the description that nobody outside the account is reached.",
    each=check_open_world_contradicted,
    flags=(
        {
            "name": "send_email",
            "description": "Sends an email to any recipient.",
            "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}, "body": {"type": "string"}}},
            "annotations": {"readOnlyHint": False, "openWorldHint": False},
        },
    ),
    passes=(
        {"name": "list_notes", "description": "Lists notes.", "annotations": {"openWorldHint": False}},
        {"name": "send_email", "description": "Sends an email.", "annotations": {"openWorldHint": True}},
    ),
)


_ENOUGH = 10
_MAJORITY = 0.9


def check_open_world_varies(target: Target) -> Iterator[tuple[str, RawFinding]]:
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


def _open_tools(count: int, **odd: bool) -> list[dict[str, object]]:
    usual: list[dict[str, object]] = [
        {"name": f"list_{n}", "description": "Lists.", "annotations": {"openWorldHint": False}} for n in range(count)
    ]
    return usual + [{"name": name, "annotations": {"openWorldHint": value}} for name, value in odd.items()]


OPEN_WORLD_VARIES = Rule(
    name="open-world-varies",
    severity="note",
    summary="One tool's openWorldHint differs from nearly all others of its server, and its definition gives "
    "no reason.",
    why="Whether a server reaches the outside is nearly always the same for all its tools.",
    fix="Say the same as the others, or say in the description whom this tool reaches.",
    whole=check_open_world_varies,
    flags=({"tools": _open_tools(12, list_labels=True)},),
    passes=({"tools": _open_tools(12)}, {"tools": _open_tools(3, list_labels=True)}),
)
