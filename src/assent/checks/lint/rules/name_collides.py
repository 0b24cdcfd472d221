"""Rule: tool names stay different after hosts make them safe."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import Target

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


def check(target: Target) -> Iterator[tuple[str, RawFinding]]:
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for tool in target.subjects:
        groups[tool.upstream, _UNSAFE.sub("_", tool.name)[:64]].append(tool.name)
    for (_, safe), names in groups.items():
        if len(names) < 2:
            continue
        for name in dict.fromkeys(names):
            others = sorted(set(names) - {name})
            text = f"it becomes {safe}, as does {others[0]}" if others else f"{len(names)} tools have this name"
            yield name, RawFinding(text, "/name")


RULE = Rule(
    name="name-collides",
    severity="error",
    summary="Two tools have one name, or would have once dots are replaced and the name is cut to 64 characters.",
    why="Hosts keep one of the two, and nobody knows which.",
    fix="Rename one of them.",
    whole=check,
    flags=(
        {"tools": [{"name": "orders.list"}, {"name": "orders_list"}]},
        {"tools": [{"name": "list_orders"}, {"name": "list_orders"}]},
    ),
    passes=({"tools": [{"name": "orders.list"}, {"name": "orders.get"}]},),
)
