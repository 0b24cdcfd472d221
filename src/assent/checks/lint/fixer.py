"""Applies the fixes of rules to a file."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from assent.checks.lint.file_edits import EditableContractFile, EditableDefinitionFile, EditableFile
from assent.checks.lint.rule import Finding, Rule
from assent.checks.lint.target import Target
from assent.errors import Fault, SettingsError
from assent.files import draft, is_protected

__all__ = ["FixedFile", "fix_file", "write_all"]


_ROUNDS = 6
_MARK = "\ufeff"

Look = Callable[[str], tuple[Target, Sequence[Finding]]]
"""Reads a text and returns its target and the findings that count."""


@dataclass(frozen=True, slots=True)
class FixedFile:
    """A file before and after the fixes, and the fixed findings."""

    file: Path
    before: bytes
    after: bytes
    fixed: tuple[Finding, ...]

    @property
    def diff(self) -> list[str]:
        """Return the changed lines as a unified diff."""
        old, new = (side.decode("utf-8").split("\n") for side in (self.before, self.after))
        return list(difflib.unified_diff(old, new, str(self.file), f"{self.file} (fixed)", lineterm="", n=1))


def fix_file(file: Path, before: bytes, look: Look, rules: dict[str, Rule]) -> FixedFile:
    """Apply every fix that a rule offers, then lint again, because one fix can reveal another."""
    text = _text(before, file)
    mark = _MARK if text.startswith(_MARK) else ""
    text = text.removeprefix(_MARK)
    fixed: list[Finding] = []
    for _ in range(_ROUNDS):
        target, findings = look(text)
        sheet: EditableFile = (
            EditableContractFile(text) if any(one.contract for one in target.subjects) else EditableDefinitionFile(text)
        )
        done = [finding for finding in findings if _answer(finding, rules[finding.rule], target, sheet)]
        if not done:
            break
        fixed += done
        text = sheet.text
    return FixedFile(file, before, (mark + text).encode("utf-8"), tuple(fixed))


def _answer(finding: Finding, rule: Rule, target: Target, sheet: EditableFile) -> bool:
    """Whether the file was changed for this finding; tools with the same name are left alone."""
    if rule.mend is None or target.names[finding.tool] != 1:
        return False
    index = next(number for number, one in enumerate(target.subjects) if one.name == finding.tool)
    changes = list(rule.mend(target.subjects[index], finding.at))
    made = [sheet.change(index, change) for change in changes]
    return any(made)


def _text(given: bytes, file: Path) -> str:
    try:
        return given.decode("utf-8")
    except UnicodeDecodeError:
        raise SettingsError(Fault("it is not UTF-8 text", "Convert it", file=str(file))) from None


def write_all(files: Sequence[FixedFile]) -> None:
    """Write every new and old text next to its file first, then rename them into place."""
    drafts: list[Path] = []
    steps: list[tuple[Path, Path, Path]] = []
    placed: list[tuple[Path, Path]] = []
    at = ""
    try:
        for one in files:
            if one.after == one.before:
                continue
            at, home = str(one.file), one.file.resolve()
            if is_protected(home):
                raise SettingsError(Fault("it is write-protected", "Allow writing to it", file=at))
            if home.read_bytes() != one.before:
                raise SettingsError(Fault("it was changed meanwhile", "Run it again", file=at))
            drafts.append(old := draft(home, one.before))
            drafts.append(new := draft(home, one.after))
            steps.append((new, old, home))
        for new, old, home in steps:
            at = str(home)
            placed.append((old, home))
            new.replace(home)
    except OSError as error:
        raise SettingsError(Fault(f"cannot be written: {error.strerror}", "Nothing was changed", file=at)) from None
    else:
        placed.clear()
    finally:
        for old, home in placed:
            with suppress(OSError):
                old.replace(home)
        for left in drafts:
            with suppress(OSError):
                left.unlink(missing_ok=True)
