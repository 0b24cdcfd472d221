"""Writes a report as text for a terminal."""

from __future__ import annotations

from itertools import groupby

from assent.core.render import counted, visible
from assent.lint.rule import SEVERITIES, Finding
from assent.lint.run import Report


def render(report: Report) -> str:
    """Return the findings by tool, most severe first, and a summary line."""
    lines: list[str] = []
    for heading, findings in groupby(report.findings, key=lambda one: _heading(one, report)):
        lines.append(heading)
        lines += [line for finding in findings for line in _lines(finding)]
        lines.append("")
    for one in report.idle:
        lines.append(
            f"{one.file}:{one.line}: the suppression of {one.rule} for {one.tool} suppresses nothing; remove it"
        )
    lines.append(_summary(report))
    return "\n".join(lines)


def _heading(finding: Finding, report: Report) -> str:
    """Return the tool and its position; findings about no tool are under the file name."""
    if not finding.tool:
        return visible(finding.file or report.target)
    return visible(finding.tool) + (f" ({visible(finding.place)})" if finding.place else "")


def _lines(finding: Finding) -> list[str]:
    at = f" at {visible(finding.at)}" if finding.at else ""
    return [
        f"  {finding.severity:<7} {finding.rule}: {visible(finding.message)}{at}",
        f"          {visible(finding.fix)}",
    ]


def _summary(report: Report) -> str:
    counts = [counted(report.count(severity), severity) for severity in SEVERITIES]
    said = f"{counted(len(report.tools), 'tool')}: " + ", ".join(counts)
    if report.suppressed:
        said += f"; {len(report.suppressed)} suppressed with a reason"
    return said + (f"; {len(report.known)} in the baseline" if report.known else "")
