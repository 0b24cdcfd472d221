"""Rule: a tool name has no dots."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if "." in tool.name:
        yield RawFinding(
            "the name has dots, which model APIs reject", "/name", f"Call it {tool.name.replace('.', '_')}."
        )


RULE = Rule(
    name="name-dotted",
    severity="warning",
    summary="A name has dots.",
    why="The specification allows them; the model APIs behind most hosts do not, so hosts rename the tool "
    "each in its way. The profile mcp-first names tools `domain.verb`, so it has no such finding.",
    fix="Use underscores, or `names: safe` in the gateway's configuration.",
    each=check,
    except_profiles=("mcp-first",),
    flags=({"name": "orders.place"},),
    passes=({"name": "orders_place"},),
)
