"""Runs the rules on a target and collects the findings that count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from assent.checks.lint import edit
from assent.checks.lint import rules as _home
from assent.checks.lint.rule import SEVERITIES, Finding, RawFinding, Rule, Severity
from assent.checks.lint.suppressions import Suppression
from assent.checks.lint.target import LintedTool, Target
from assent.contract.yaml_document import packaged_yaml


@cache
def all_rules() -> dict[str, Rule]:
    """Return every rule by name, as its topic's file of texts and examples and its module of checks say."""
    found: dict[str, Rule] = {}
    for topic in iter_modules(_home.__path__):
        checks = vars(import_module(f"{_home.__name__}.{topic.name}"))
        texts = packaged_yaml(_home.__name__, f"{topic.name}.yaml")
        found |= {name: _rule(name, fields, checks) for name, fields in texts.items()}
    return dict(sorted(found.items()))


def _rule(name: str, fields: Mapping[str, Any], checks: Mapping[str, Any]) -> Rule:
    """A rule from its texts, with the functions that are named after it; `mend` names a general edit instead."""
    plain = name.replace("-", "_")
    given: Any = {
        key: tuple(value) if isinstance(value, list) else value for key, value in fields.items() if key != "mend"
    }
    return Rule(
        name,
        **given,
        each=checks.get(f"check_{plain}"),
        whole=checks.get(f"check_all_{plain}"),
        mend=getattr(edit, fields["mend"]) if "mend" in fields else checks.get(f"mend_{plain}"),
    )


@dataclass(frozen=True, slots=True)
class Report:
    """Findings, most severe first per tool, and findings that do not count."""

    target: str
    tools: tuple[LintedTool, ...]
    findings: tuple[Finding, ...]
    suppressed: tuple[tuple[Finding, str], ...] = ()
    known: tuple[Finding, ...] = ()
    """Findings that are in the baseline."""
    idle: tuple[Suppression, ...] = field(default=())
    """Suppressions that matched nothing although their rule ran."""
    used: tuple[Suppression, ...] = ()
    """Suppressions that matched a finding."""

    def count(self, severity: Severity) -> int:
        return sum(1 for finding in self.findings if finding.severity == severity)

    def fails(self, least: Severity = "warning") -> bool:
        """Whether a finding has at least this severity."""
        grave = SEVERITIES[: SEVERITIES.index(least) + 1]
        return any(finding.severity in grave for finding in self.findings)


def lint(
    target: Target,
    *,
    suppressions: Sequence[Suppression] = (),
    least: Severity = "note",
    only: Iterable[str] = (),
) -> Report:
    """Run every rule; leave out findings that are suppressed with a reason."""
    shown = SEVERITIES[: SEVERITIES.index(least) + 1]
    rules = [rule for rule in all_rules().values() if rule.applies_to(target) and rule.severity in shown]
    chosen = set(only)
    rules = [rule for rule in rules if not chosen or rule.name in chosen]
    found = [finding for rule in rules for finding in _findings(rule, target)]
    order = {(one.name, one.file, one.line): index for index, one in enumerate(target.subjects)}
    found.sort(
        key=lambda one: (
            order.get((one.tool, one.file, one.line), -1),
            SEVERITIES.index(one.severity),
            one.rule,
            one.at,
        )
    )
    left: list[Finding] = []
    suppressed: list[tuple[Finding, str]] = []
    used: set[Suppression] = set()
    for finding in found:
        covering = next((one for one in suppressions if one.covers(finding.rule, finding.tool)), None)
        if covering is None:
            left.append(finding)
        else:
            used.add(covering)
            suppressed.append((finding, covering.because))
    names = {rule.name for rule in rules}
    idle = tuple(one for one in suppressions if one not in used and one.rule in names)
    return Report(target.name, target.subjects, tuple(left), tuple(suppressed), idle=idle, used=tuple(used))


def together(reports: Sequence[Report]) -> Report:
    """Merge reports; a suppression that one report needed counts as used in all."""
    if len(reports) == 1:
        return reports[0]
    used = {suppression for one in reports for suppression in one.used}
    idle = dict.fromkeys(suppression for one in reports for suppression in one.idle if suppression not in used)
    return Report(
        ", ".join(one.target for one in reports),
        tuple(tool for one in reports for tool in one.tools),
        tuple(finding for one in reports for finding in one.findings),
        tuple(pair for one in reports for pair in one.suppressed),
        tuple(finding for one in reports for finding in one.known),
        tuple(idle),
        tuple(used),
    )


def _findings(rule: Rule, target: Target) -> Iterator[Finding]:
    if rule.each is not None:
        for subject in target.subjects:
            for raw in rule.each(subject):
                yield _finding(rule, subject.name, raw, subject)
    if rule.whole is not None:
        homes = {subject.name: subject for subject in target.subjects}
        for tool, raw in rule.whole(target):
            yield _finding(rule, tool, raw, homes.get(tool), target.name if not tool else "")


def _finding(rule: Rule, tool: str, raw: RawFinding, subject: LintedTool | None, file: str = "") -> Finding:
    place, line = (subject.file, subject.line) if subject else (file, 0)
    if raw.at.startswith("line "):
        line = int(raw.at.removeprefix("line "))
    return Finding(rule.name, rule.severity, tool, raw.message, raw.at, raw.fix or rule.fix, place, line)
