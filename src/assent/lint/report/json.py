"""Writes a report as JSON."""

from __future__ import annotations

from assent.lint.json_text import written
from assent.lint.rule import SEVERITIES
from assent.lint.run import Report


def render(report: Report) -> str:
    return written(
        {
            "target": report.target,
            "tools": len(report.tools),
            "counts": {severity: report.count(severity) for severity in SEVERITIES},
            "findings": [finding.as_json() for finding in report.findings],
            "suppressed": [finding.as_json() | {"because": because} for finding, because in report.suppressed],
            "baseline": len(report.known),
        }
    )
