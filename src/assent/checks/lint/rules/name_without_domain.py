"""Rule: a name has the form `domain.verb`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool

_FORM = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+")


def check(tool: LintedTool) -> Iterator[RawFinding]:
    if not _FORM.fullmatch(tool.name):
        yield RawFinding("its name does not say its domain", "/name")


RULE = Rule(
    name="name-without-domain",
    severity="note",
    summary="A name does not have the form `domain.verb`.",
    why="With many tools, the domain in front of the verb says what a call is about, and keeps names unique.",
    fix="Name it as in `emails.send_external`, or leave this rule out.",
    each=check,
    profiles=("mcp-first",),
    flags=({"name": "foo"}, {"name": ".send"}),
    passes=({"name": "emails.send_external"},),
)
