"""How does a person read a report?"""

from __future__ import annotations

from itertools import groupby

from assent.core.render import counted, visible
from assent.lint.rule import SEVERITIES, Finding
from assent.lint.run import Report


def render(report: Report) -> str:
    """Findings by tool, gravest first, then one line that counts."""
    lines: list[str] = []
    for tool, findings in groupby(report.findings, key=lambda one: one.tool):
        group = list(findings)
        place = f" ({visible(group[0].place)})" if tool and group[0].place else ""
        lines.append(visible(tool or report.target) + place)
        lines += [line for finding in group for line in _lines(finding)]
        lines.append("")
    for one in report.idle:
        lines.append(
            f"{one.file}:{one.line}: the suppression of {one.rule} for {one.tool} suppresses nothing; remove it"
        )
    lines.append(_summary(report))
    return "\n".join(lines)


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
