"""Writes a report as SARIF 2.1.0 for code scanning."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assent.core.render import visible
from assent.lint.json_text import written
from assent.lint.rule import Finding, Rule
from assent.lint.run import Report, all_rules

_BRACKET = re.compile(r"[\[\]]")
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(report: Report) -> str:
    used = {finding.rule for finding in report.findings} | {finding.rule for finding, _ in report.suppressed}
    listed = [rule for rule in all_rules().values() if rule.name in used]
    index = {rule.name: number for number, rule in enumerate(listed)}
    results = [_result(finding, index) for finding in report.findings]
    results += [
        _result(finding, index) | {"suppressions": [{"kind": "inSource", "justification": because}]}
        for finding, because in report.suppressed
    ]
    driver = {"name": "assent", "version": _version(), "rules": [_rule(rule) for rule in listed]}
    run = {"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}
    return written({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


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


def _version() -> str:
    try:
        return version("assent")
    except PackageNotFoundError:
        return "0"
