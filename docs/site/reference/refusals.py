"""The reference page of refusals."""

from __future__ import annotations

from collections.abc import Mapping

from assent.core.problems import CATALOGUE, ProblemKind
from assent.people.api.problems import FAULTS

TABLE = ["| code | status | what happened | what to do | for | retry |", "|---|---|---|---|---|---|"]


def refusals_page() -> str:
    """Every code with its status, its sentence and its remedy."""
    lines = [
        "# Refusals",
        "",
        "A code is `<stage>.<reason>`. A refusal of a tool call is a tool result with the problem (RFC 9457) in it;",
        "the status is the problem's. *retry* says that the same call may succeed later without a change. The",
        "`type` of a problem is `https://assent.dev/refusals#CODE` and leads to its row here. A tool's own codes,",
        "which have no dot, are its [failures](../failures.md).",
        "",
        *TABLE,
        *_rows(CATALOGUE),
        "",
        "## Problems of the HTTP API",
        "",
        "Requests to `/api/` have these codes too.",
        "",
        *TABLE,
        *_rows(FAULTS),
    ]
    return "\n".join([*lines, ""])


def _rows(kinds: Mapping[str, ProblemKind]) -> list[str]:
    cells = ([cell.replace("|", "\\|") for cell in _cells(code, kind)] for code, kind in kinds.items())
    return [f"| {' | '.join(row)} |" for row in cells]


def _cells(code: str, kind: ProblemKind) -> tuple[str, ...]:
    remedy = kind.remedy.replace("{{", "{").replace("}}", "}")
    retry = "yes" if kind.retryable else ""
    return f'<a id="{code}"></a>`{code}`', str(kind.status), kind.title, remedy, kind.audience, retry
