"""Writes a report as GitHub workflow commands, shown next to the lines."""

from __future__ import annotations

from assent.core.render import visible
from assent.lint.rule import Finding
from assent.lint.run import Report

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: Report) -> str:
    """Return one workflow command per finding."""
    return "\n".join(_command(finding) for finding in report.findings)


def _command(finding: Finding) -> str:
    properties = {"title": f"{finding.rule}: {visible(finding.tool)}" if finding.tool else finding.rule}
    if finding.file:
        properties = {"file": finding.file, **({"line": str(finding.line)} if finding.line else {}), **properties}
    said = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {said}::{_message(visible(finding.message) + '. ' + visible(finding.fix))}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
