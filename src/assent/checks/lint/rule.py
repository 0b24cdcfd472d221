"""Rules and findings of the linter."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from assent.checks.lint.edit import Edit
    from assent.checks.lint.target import LintedTool, Target


def indented_json(value: Any) -> str:
    """Return indented JSON with unescaped letters; lone surrogates stay escaped, because UTF-8 cannot encode them."""
    said = json.dumps(value, indent=2, ensure_ascii=False)
    return said.encode("utf-8", "backslashreplace").decode("utf-8")


Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")

Example = Mapping[str, Any]
"""A definition; or `{tools: [...], contracts: {...}, configuration: text}` where one definition does not say enough."""


READ_ONLY, DESTRUCTIVE = "/annotations/readOnlyHint", "/annotations/destructiveHint"
IDEMPOTENT, OPEN_WORLD = "/annotations/idempotentHint", "/annotations/openWorldHint"
"""The places of the hints in a definition."""


@dataclass(frozen=True, slots=True)
class RawFinding:
    """What a rule reports about one tool: the sentence, the place in the definition, and the fix."""

    message: str
    at: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that can be wrong. A rule checks each tool, a whole target, or both.

    `flags` and `passes` are examples that run as tests. A rule with `profiles` runs only under one of them, and not
    under `except_profiles`. `mend` returns the safe edits for a finding: the tool stays at least as guarded, or the
    edit repeats what the definition clearly says.
    """

    name: str
    severity: Severity
    summary: str
    why: str
    fix: str
    flags: tuple[Example, ...]
    passes: tuple[Example, ...]
    each: Callable[[LintedTool], Iterable[RawFinding]] | None = None
    whole: Callable[[Target], Iterable[tuple[str, RawFinding]]] | None = None
    profiles: tuple[str, ...] = ()
    except_profiles: tuple[str, ...] = ()
    mend: Callable[[LintedTool, str], Iterable[Edit]] | None = None

    def applies_to(self, target: Target) -> bool:
        named = target.profile.name
        return named not in self.except_profiles and (not self.profiles or named in self.profiles)


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: what is wrong, where, and how to fix it. `tool` is empty for a whole target."""

    rule: str
    severity: Severity
    tool: str
    message: str
    at: str = ""
    fix: str = ""
    file: str = ""
    line: int = 0

    @property
    def fingerprint(self) -> str:
        """Stable id of the finding across runs, even if its line moves."""
        told = "\0".join((self.rule, self.tool, self.at))
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file

    def as_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "severity": self.severity,
            "tool": self.tool,
            "message": self.message,
            "at": self.at,
            "fix": self.fix,
            "file": self.file,
            "line": self.line,
            "fingerprint": self.fingerprint,
        }
