"""Report formats: text for a terminal, JSON, SARIF for code scanning, GitHub workflow commands, JUnit XML."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from assent.checks.lint.rule import SEVERITIES, Finding, Rule, indented_json
from assent.checks.lint.run import Report, all_rules
from assent.core.question import counted, visible


def render_text(report: Report) -> str:
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


def render_json(report: Report) -> str:
    """Return the report as JSON."""
    return indented_json(
        {
            "target": report.target,
            "tools": len(report.tools),
            "counts": {severity: report.count(severity) for severity in SEVERITIES},
            "findings": [finding.as_json() for finding in report.findings],
            "suppressed": [finding.as_json() | {"because": because} for finding, because in report.suppressed],
            "baseline": len(report.known),
        }
    )


_BRACKET = re.compile(r"[\[\]]")
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render_sarif(report: Report) -> str:
    """Return the report as SARIF 2.1.0 for code scanning."""
    used = {finding.rule for finding in report.findings} | {finding.rule for finding, _ in report.suppressed}
    listed = [rule for rule in all_rules().values() if rule.name in used]
    index = {rule.name: number for number, rule in enumerate(listed)}
    results = [_result(finding, index) for finding in report.findings]
    results += [
        _result(finding, index) | {"suppressions": [{"kind": "inSource", "justification": because}]}
        for finding, because in report.suppressed
    ]
    driver = {"name": "assent", "version": version("assent"), "rules": [_rule(rule) for rule in listed]}
    run = {"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}
    return indented_json({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.why},
        "help": {"text": rule.fix},
        "defaultConfiguration": {"level": rule.severity},
    }


def _result(finding: Finding, index: dict[str, int]) -> dict[str, Any]:
    location: dict[str, Any] = {}
    if finding.file:
        region = {"region": {"startLine": finding.line}} if finding.line else {}
        location["physicalLocation"] = {"artifactLocation": {"uri": _uri(finding.file)}, **region}
    if finding.tool:
        name = finding.tool + (f"#{finding.at}" if finding.at else "")
        location["logicalLocations"] = [{"name": finding.tool, "fullyQualifiedName": name, "kind": "function"}]
    subject = f"{finding.tool}: " if finding.tool else ""
    return {
        "ruleId": finding.rule,
        "ruleIndex": index[finding.rule],
        "level": finding.severity,
        "message": {"text": _plain(f"{subject}{finding.message}. {finding.fix}")},
        "locations": [location] if location else [],
        "partialFingerprints": {"assent/v1": finding.fingerprint},
    }


def _plain(text: str) -> str:
    """Escape brackets, so that text from a tool cannot become a link."""
    return _BRACKET.sub(r"\\\g<0>", visible(text))


def _uri(file: str) -> str:
    return file if "://" in file else quote(Path(file).as_posix())


_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render_github(report: Report) -> str:
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


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_Case = tuple[str, str, int]
"""Tool, file and line, so that two tools with the same name are two cases."""


def render_junit(report: Report) -> str:
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
        f"<failure type={_attribute(one.rule)} message={_attribute(one.message)}>{_xml_text(_line(one))}</failure>"
        for one in grave
    )
    if notes:
        inside += f"<system-out>{_xml_text(chr(10).join(map(_line, notes)))}</system-out>"
    return f"{head}>{inside}</testcase>\n"


def _line(finding: Finding) -> str:
    place = f"{finding.place}: " if finding.place else ""
    return f"{place}{finding.severity} {finding.rule}: {finding.message}. {finding.fix}"


def _xml_text(text: str) -> str:
    return escape(_NOT_XML.sub("?", text))


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("?", visible(text)))


FORMATS: dict[str, Callable[[Report], str]] = {
    "text": render_text,
    "json": render_json,
    "sarif": render_sarif,
    "github": render_github,
    "junit": render_junit,
}
