"""Rule: the tool name is short enough for every host."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool

_LONGEST = 64


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if _LONGEST < len(tool.name) <= 128:
        yield RawFinding(
            f"the name has {len(tool.name)} characters; some hosts cut or refuse more than {_LONGEST}", "/name"
        )


RULE = Rule(
    name="name-too-long",
    severity="warning",
    summary="A name is longer than 64 characters.",
    why="The specification allows 128, model APIs and some hosts 64, and hosts put the server's name in front.",
    fix="Shorten the name.",
    each=check,
    flags=({"name": "a" * 65},),
    passes=({"name": "a" * 64},),
)
