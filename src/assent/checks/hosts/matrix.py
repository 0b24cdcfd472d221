"""What each host does with each tool, and what each directory's reviewer says to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from assent.checks.lint.rule import Finding
from assent.checks.lint.run import lint
from assent.checks.lint.target import LintedTool, Target
from assent.contract.profiles import profile
from assent.contract.tool_listing import read_claims
from assent.contract.yaml_document import packaged_yaml

WORDS = {"runs": "runs", "may_run": "may run", "asks": "asks", "ignores": "ignores hints"}


@dataclass(frozen=True, slots=True)
class ReviewStep:
    """One rule of a host's behaviour: when it applies, what the host does, and why."""

    when: Mapping[str, tuple[bool | None, ...]]
    does: str
    because: str

    def fits(self, hints: Mapping[str, bool | None]) -> bool:
        return all(hints[name] in values for name, values in self.when.items())


@dataclass(frozen=True, slots=True)
class Host:
    """A host, or a directory (which has no steps); `source` is a public page about it, if known."""

    name: str
    title: str
    source: str
    checked: str
    says: str = ""
    steps: tuple[ReviewStep, ...] = ()

    def judge(self, hints: Mapping[str, bool | None]) -> ReviewStep:
        return next(step for step in self.steps if step.fits(hints))


@dataclass(frozen=True, slots=True)
class Row:
    """One tool: its hints, the behaviour of each host, the objections of each directory, and notes."""

    tool: str
    hints: Mapping[str, bool | None]
    hosts: Mapping[str, ReviewStep]
    directories: Mapping[str, tuple[Finding, ...]]
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "tool": self.tool,
            "hints": dict(self.hints),
            "hosts": {name: {"does": step.does, "because": step.because} for name, step in self.hosts.items()},
            "directories": {
                name: {
                    "accepts": not any(one.severity == "error" for one in found),
                    "objections": [{"rule": one.rule, "says": one.message, "fix": one.fix} for one in found],
                }
                for name, found in self.directories.items()
            },
            "notes": list(self.notes),
        }


@cache
def _data() -> dict[str, Any]:
    loaded: dict[str, Any] = packaged_yaml("assent.checks.hosts", "hosts.yaml")
    return loaded


@cache
def hosts() -> tuple[Host, ...]:
    """Return every known host."""
    return tuple(_host(one) for one in _data()["hosts"])


@cache
def directories() -> tuple[Host, ...]:
    return tuple(_host(one) for one in _data()["directories"])


def _host(given: Mapping[str, Any]) -> Host:
    steps = tuple(
        ReviewStep(
            {name: tuple(None if value == "absent" else value for value in values) for name, values in when.items()},
            step["does"],
            step["because"],
        )
        for step in given.get("rules", ())
        for when in (step.get("when", {}),)
    )
    return Host(
        given["name"], given["title"], given.get("source", ""), str(_data()["checked"]), given.get("says", ""), steps
    )


def hints_of(tool: LintedTool) -> dict[str, bool | None]:
    """Return the hints as written (None if absent or under a name that hosts ignore), and host-specific settings."""
    plain = {**tool.annotations}
    for foreign in ("readOnly", "destructive", "idempotent", "openWorld"):
        plain.pop(foreign, None)
    claims = read_claims({"annotations": plain})
    return {
        "read_only": claims.read_only,
        "destructive": claims.destructive,
        "idempotent": claims.idempotent,
        "open_world": claims.open_world,
        "asks_always": tool.mapping("_meta").get("anthropic/requiresUserInteraction") is True,
        "asks_in_cursor": plain.get("cursor/requiresConfirmation") is True,
    }


def verdicts(tool: LintedTool) -> list[tuple[Host, ReviewStep]]:
    """What each host does with one tool."""
    hints = hints_of(tool)
    return [(host, host.judge(hints)) for host in hosts()]


def matrix(target: Target) -> tuple[Row, ...]:
    """Return one row per tool."""
    findings = {one.name: _by_tool(objections(target, one.name)) for one in directories()}
    return tuple(
        _row(tool, {name: found.get(tool.name, ()) for name, found in findings.items()}) for tool in target.subjects
    )


def _row(tool: LintedTool, findings: Mapping[str, Sequence[Finding]]) -> Row:
    hints = hints_of(tool)
    return Row(
        tool.name,
        hints,
        {host.name: step for host, step in verdicts(tool)},
        {name: tuple(found) for name, found in findings.items()},
        tuple(_hint_notes(tool, hints)),
    )


def objections(target: Target, directory: str) -> tuple[Finding, ...]:
    """Return the findings of the directory's own rules and every error that any reviewer would raise."""
    return tuple(lint(Target(target.name, target.subjects, profile(directory)), least="error").findings)


def _by_tool(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.tool, []).append(finding)
    return found


def _hint_notes(tool: LintedTool, hints: Mapping[str, bool | None]) -> list[str]:
    notes = []
    if hints["read_only"] and not tool.inference.read_only and tool.confident:
        notes.append(f"readOnlyHint is probably wrong ({tool.because}): it removes the person in every host")
    if hints["read_only"] is not True and hints["destructive"] is None:
        notes.append("destructiveHint is absent, which means true to a host that follows the specification")
    if hints["read_only"] is None:
        notes.append("readOnlyHint is absent, which means false to a host that follows the specification")
    if hints["open_world"] is None:
        notes.append(
            "openWorldHint is absent: true by the specification, but VS Code confirms results only if it is said"
        )
    if tool.claims.foreign:
        notes.append(f"no host reads {', '.join(tool.claims.foreign)}")
    return notes
