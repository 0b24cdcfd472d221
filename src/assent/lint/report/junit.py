"""Writes a report as JUnit XML for build servers."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from assent.core.render import visible
from assent.lint.rule import Finding
from assent.lint.run import Report

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_Case = tuple[str, str, int]
"""Tool, file and line, so that two tools with the same name are two cases."""


def render(report: Report) -> str:
    """Return one test case per tool; errors and warnings fail it, notes are printed."""
    by_tool: dict[_Case, list[Finding]] = {(one.name, one.file, one.line): [] for one in report.tools}
    for finding in report.findings:
        file = finding.file or report.target
        case = (finding.tool, finding.file, finding.line) if finding.tool else (file, file, 0)
        by_tool.setdefault(case, []).append(finding)
    failures = sum(1 for findings in by_tool.values() if any(one.severity != "note" for one in findings))
    cases = "".join(_case(file or report.target, name, findings) for (name, file, _), findings in by_tool.items())
    head = f'name="assent lint" tests="{len(by_tool)}" failures="{failures}"'
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {head}>\n'
        f"<testsuite {head}>\n{cases}</testsuite>\n</testsuites>"
    )


def _case(target: str, tool: str, findings: list[Finding]) -> str:
    grave = [one for one in findings if one.severity != "note"]
    notes = [one for one in findings if one.severity == "note"]
    head = f"<testcase classname={_attribute(target)} name={_attribute(tool)}"
    if not findings:
        return head + "/>\n"
    inside = "".join(
        f"<failure type={_attribute(one.rule)} message={_attribute(one.message)}>{_text(_line(one))}</failure>"
        for one in grave
    )
    if notes:
        inside += f"<system-out>{_text(chr(10).join(map(_line, notes)))}</system-out>"
    return f"{head}>{inside}</testcase>\n"


def _line(finding: Finding) -> str:
    place = f"{finding.place}: " if finding.place else ""
    return f"{place}{finding.severity} {finding.rule}: {finding.message}. {finding.fix}"


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("?", text))


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("?", visible(text)))
