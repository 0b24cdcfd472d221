"""The reference page of refusals."""

from __future__ import annotations

from assent.core.refusals import CATALOGUE


def refusals_page() -> str:
    """Every code with its status, its sentence and its remedy."""
    lines = [
        "# Refusals",
        "",
        "A code is `<stage>.<reason>`. A refusal of a tool call is a tool result with the problem (RFC 9457) in it;",
        "the status is the problem's. *retry* says that the same call may succeed later without a change.",
        "",
        "| code | status | what happened | what to do | for | retry |",
        "|---|---|---|---|---|---|",
    ]
    for code, kind in CATALOGUE.items():
        remedy = kind.remedy.replace("{{", "{").replace("}}", "}")
        cells = (
            f'<a id="{code}"></a>`{code}`',
            str(kind.status),
            kind.title,
            remedy,
            kind.audience,
            "yes" if kind.retryable else "",
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*lines, ""])
