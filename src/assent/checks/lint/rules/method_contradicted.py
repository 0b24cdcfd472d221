"""Rule: hints agree with the HTTP method of the tool."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool

_WRITING = ("PUT", "PATCH", "DELETE")


def check(tool: LintedTool) -> Iterator[RawFinding]:
    method = tool.method.upper() or _told(tool.description)
    if tool.claims.read_only and method in _WRITING:
        yield RawFinding(f"it claims to be read-only, but it is a {method}", "/annotations/readOnlyHint")
    if tool.claims.destructive is False and not tool.claims.read_only and method == "DELETE":
        yield RawFinding("destructiveHint is false, but it is a DELETE", "/annotations/destructiveHint")


def _told(description: str) -> str:
    """The method a generated description begins with: `DELETE /orders/{id}`."""
    first, _, rest = description.strip().strip("`").partition(" ")
    return first if rest.lstrip().startswith("/") else ""


RULE = Rule(
    name="method-contradicted",
    severity="error",
    summary="A tool's hints contradict the HTTP method it stands for.",
    why="PUT, PATCH and DELETE change things by definition, whatever the operation is called.",
    fix="Correct the hint; or offer the operation under GET if it changes nothing.",
    each=check,
    flags=(
        {"name": "orders_remove", "method": "DELETE", "annotations": {"readOnlyHint": True}},
        {"name": "orders_remove", "description": "DELETE /orders/{id}", "annotations": {"destructiveHint": False}},
    ),
    passes=(
        {"name": "orders_remove", "method": "DELETE", "annotations": {"readOnlyHint": False, "destructiveHint": True}},
        {"name": "orders_list", "method": "GET", "annotations": {"readOnlyHint": True}},
        {"name": "orders_search", "method": "POST", "annotations": {"readOnlyHint": True}},
    ),
)
