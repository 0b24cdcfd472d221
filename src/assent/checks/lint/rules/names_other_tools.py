"""Rule: a description does not mention other tools."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import Target

_WORD = re.compile(r"[A-Za-z0-9_.-]+")


def check(target: Target) -> Iterator[tuple[str, RawFinding]]:
    names = {name for name in target.names if "_" in name or "-" in name or "." in name.strip(".")}
    for tool in target.subjects:
        words = dict.fromkeys(word.strip(".-") for word in _WORD.findall(tool.description))
        others = [word for word in words if word in names and word != tool.name]
        if others:
            shown = ", ".join(others[:5]) + (" and more" if len(others) > 5 else "")
            yield tool.name, RawFinding(f"its description names other tools: {shown}", "/description")


RULE = Rule(
    name="names-other-tools",
    severity="note",
    summary="A description names other tools.",
    why="Hosts rename tools, gateways put prefixes before them, and policies hide some, so the name may lead "
    "nowhere; and steering the model from one tool to another is how descriptions are abused.",
    fix="Describe what is needed (an order's id) instead of the tool that gives it.",
    whole=check,
    flags=({"tools": [{"name": "get_order", "description": "Call list_orders first."}, {"name": "list_orders"}]},),
    passes=({"tools": [{"name": "get_order", "description": "Gets an order by its id."}, {"name": "list_orders"}]},),
)
