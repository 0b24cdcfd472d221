"""Suppressions of findings, each with a rule and a reason, and the baseline of known findings.

A suppression is a comment in a contract file, inside the block of its tool (`# assent: allow risk-lowered because the
mailbox is the caller's own`), or an entry in a file of suppressions.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assent.checks.lint.rule import Finding, indented_json
from assent.contract.files import homes_of
from assent.contract.yaml_document import YamlDocument
from assent.errors import Fault, FaultsError, SettingsError
from assent.files import read_text

if TYPE_CHECKING:
    from assent.checks.lint.run import Report


@dataclass(frozen=True, slots=True)
class Baseline:
    """Known findings by fingerprint and file; a row without a file covers any file."""

    home: Path
    rows: tuple[tuple[str, str | None], ...]


def read_baseline(path: Path) -> Baseline:
    """Read a baseline file; raise SettingsError if it is not one."""
    if not path.exists():
        raise SettingsError(Fault("there is no baseline", "Write it with --write-baseline", file=str(path)))
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        rows = [(str(one["fingerprint"]), str(one["file"]) if "file" in one else None) for one in found["findings"]]
        return Baseline(path.parent, tuple(rows))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        remedy = "Name another file, or remove this one and write it with --write-baseline"
        raise SettingsError(Fault(f"not a baseline: {error}", remedy, file=str(path))) from None


def baseline_text(findings: Iterable[Finding], home: Path) -> str:
    """Return a baseline file for this folder, in an order that gives small diffs."""
    rows = [
        {
            "fingerprint": one.fingerprint,
            "file": _seen_from(home, one.file),
            "rule": one.rule,
            "tool": one.tool,
            "at": one.at,
            "message": one.message,
        }
        for one in findings
    ]
    rows.sort(key=lambda row: (row["file"], row["tool"], row["rule"], row["at"]))
    return indented_json({"version": 1, "findings": rows}) + "\n"


def less(report: Report, baseline: Baseline) -> Report:
    """Return the report with only new findings; one row covers one finding."""
    allowed = Counter(baseline.rows)
    new: list[Finding] = []
    known: list[Finding] = []
    for finding in report.findings:
        named = (finding.fingerprint, _seen_from(baseline.home, finding.file))
        row = next((row for row in (named, (finding.fingerprint, None)) if allowed[row] > 0), None)
        if row is None:
            new.append(finding)
        else:
            allowed[row] -= 1
            known.append(finding)
    return replace(report, findings=tuple(new), known=tuple(known))


def _seen_from(home: Path, file: str) -> str:
    """Return the file name relative to the baseline's folder."""
    if not file or not Path(file).exists():
        return file
    return Path(os.path.relpath(Path(file).resolve(), home.resolve())).as_posix()


_COMMENT = re.compile(r"#\s*assent:\s*allow\b\s*(?P<rule>[^\s]*)\s*(?:because\s+(?P<because>\S.*?))?\s*$")
_FORM = "Write `# assent: allow RULE because REASON`"
_KEYS = {"rule", "tool", "because"}


@dataclass(frozen=True, slots=True)
class Suppression:
    """One rule, not applied to the tools that match a pattern, for a reason."""

    rule: str
    tool: str
    because: str
    file: str = ""
    line: int = 0

    def covers(self, rule: str, tool: str) -> bool:
        return rule == self.rule and fnmatchcase(tool, self.tool)


def in_comments(document: YamlDocument, known: Collection[str]) -> list[Suppression]:
    """Return the suppressions in the comments of a contract file."""
    homes = {place for _, place in homes_of(document)}
    starts = sorted((node.line, path[-1]) for path, node in document.nodes.items() if path[:-1] in homes)
    found: list[Suppression] = []
    faults: list[Fault] = []
    lines = document.without_values().splitlines()
    for number, line in enumerate(lines, start=1):
        match = _COMMENT.search(line)
        if match is None:
            continue
        tool = _owner(number, lines, starts)
        fault = _find_problem(match["rule"], match["because"], known) if tool else "it is outside the block of a tool"
        if fault:
            faults.append(Fault(fault, _FORM + " inside the tool's block", file=document.file, line=number))
        elif tool:
            found.append(Suppression(match["rule"], tool, match["because"], document.file, number))
    if faults:
        raise SettingsError(faults)
    return found


def _owner(number: int, lines: list[str], starts: list[tuple[int, Any]]) -> str | None:
    """Return the tool of a comment: the next tool if the comment is directly above it, else the tool around it.

    A comment that is indented no deeper than tool names belongs to the next tool, or to none if there is no next tool.
    """
    around = [tool for line, tool in starts if line <= number]
    depth = _indent(lines[starts[0][0] - 1]) if starts else 0
    if not lines[number - 1].lstrip().startswith("#") or (around and _indent(lines[number - 1]) > depth):
        return str(around[-1]) if around else None
    below = number
    while below <= len(lines) and lines[below - 1].strip()[:1] in ("", "#"):
        below += 1
    for line, tool in starts:
        if line == below:
            return str(tool)
    within = below <= len(lines) and _indent(lines[below - 1]) > depth
    return str(around[-1]) if around and within else None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def read_suppressions(path: Path, known: Collection[str]) -> list[Suppression]:
    """Read a file of suppressions: `suppressions:` with a list of rule, tool (a pattern, default all) and because."""
    text = read_text(path, "Name a file of suppressions")
    try:
        document = YamlDocument(text, str(path))
    except FaultsError as error:
        raise SettingsError(error.faults) from None
    value = document.value
    listed = value.get("suppressions") if isinstance(value, dict) and len(value) == 1 else None
    if not isinstance(listed, list):
        raise SettingsError(Fault("it has no list `suppressions:`", "Put the suppressions under it", file=str(path)))
    found: list[Suppression] = []
    faults: list[Fault] = []
    for index, one in enumerate(listed):
        file, line = document.locate(("suppressions", index))
        if not isinstance(one, dict) or set(one) - _KEYS or not all(isinstance(each, str) for each in one.values()):
            faults.append(Fault("a suppression has rule, tool and because", "Correct it", file=file, line=line))
            continue
        wrong = _find_problem(one.get("rule", ""), one.get("because"), known)
        if wrong:
            faults.append(Fault(wrong, "Name the rule and say why", file=file, line=line))
            continue
        found.append(Suppression(one["rule"], one.get("tool", "*"), one["because"], file, line))
    if faults:
        raise SettingsError(faults)
    return found


def _find_problem(rule: str, because: str | None, known: Collection[str]) -> str | None:
    if rule not in known:
        return f"there is no rule {rule!r}" if rule else "no rule is named"
    return None if because and because.strip() else f"{rule} is suppressed without a reason"
