"""Applies the fixes of `assent lint --fix` and shows them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from assent.checks.lint import Finding, Target, all_rules, lint
from assent.checks.lint.fix import FixedFile, fix_file, write_all
from assent.checks.lint.sources import fixable_files, read_text
from assent.checks.lint.suppressions import Baseline, Suppression, less
from assent.cli.shared.targets import Chosen
from assent.contract.profiles import Profile, profile
from assent.core.question import counted, visible
from assent.errors import Fault, SettingsError


def fix_files(named: Sequence[Chosen], allowed: Sequence[Suppression], known: Baseline | None, *, write: bool) -> None:
    """Shows the changes to the files of the targets and, with `write`, makes them."""
    files = {file.resolve(): (file, one) for one in named for file in fixable_files(_file_of(one))}
    fixed_files = [_fix_one(file, profile(one.profile), allowed, known) for file, one in files.values()]
    if write:
        write_all(fixed_files)
    for one in fixed_files:
        for line in one.diff:
            click.echo(visible(line), err=True)
    fixed = sum(len(one.fixed) for one in fixed_files)
    changed = sum(one.after != one.before for one in fixed_files)
    verb = "fixed" if write else "can be fixed"
    click.echo(f"{counted(fixed, 'finding')} {verb} in {counted(changed, 'file')}", err=True)


def _file_of(named: Chosen) -> Path:
    """The file of a target; raises for a target that is not a file or whose definitions are derived."""
    target = named.target or " ".join(named.command)
    path = Path(named.target or "")
    if named.command or not path.is_file():
        remedy = "Correct the server, or save its tools/list result to a file and fix that"
        raise SettingsError(Fault(f"{target} is not a file: --fix changes files only", remedy, "--fix"))
    if named.contracts:
        remedy = "Lint the contract files themselves with --fix"
        raise SettingsError(Fault("definitions under --contracts are derived and cannot be fixed", remedy, "--fix"))
    return path


def _fix_one(file: Path, said_by: Profile, allowed: Sequence[Suppression], known: Baseline | None) -> FixedFile:
    rules = all_rules()

    def look(text: str) -> tuple[Target, Sequence[Finding]]:
        read = read_text(text, file, said_by=said_by, known=tuple(rules))
        report = lint(read.target, suppressions=[*read.suppressions, *allowed])
        return read.target, (report if known is None else less(report, known)).findings

    try:
        before = file.read_bytes()
    except OSError as error:
        raise SettingsError(Fault(f"cannot be read: {error.strerror}", "Correct the path", file=str(file))) from None
    return fix_file(file, before, look, rules)
