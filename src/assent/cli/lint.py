"""`assent lint`: finds missing, contradictory or wrong tool metadata."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assent.checks.lint.rule import SEVERITIES, Severity
from assent.cli.shared.options import FILE, TargetCommand, reading_options
from assent.contract.profiles import Profile
from assent.contract.profiles import profile as named_profile
from assent.core.question import counted, visible
from assent.errors import Fault, SettingsError
from assent.files import write_whole

if TYPE_CHECKING:
    from assent.checks.lint.fixer import FixedFile
    from assent.checks.lint.rule import Finding
    from assent.checks.lint.sources import LintInput
    from assent.checks.lint.suppressions import Baseline, Suppression
    from assent.checks.lint.target import Target
    from assent.cli.shared.targets import Chosen


@click.command(cls=TargetCommand)
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@reading_options
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "sarif", "github", "junit"]),
    default="text",
    show_default=True,
)
@click.option("--suppressions", type=FILE, help="A file of rules that are not applied to some tools, with reasons.")
@click.option("--baseline", type=FILE, help="Ignore the findings in this file.")
@click.option("--write-baseline", is_flag=True, help="Write the findings to the baseline file instead of failing.")
@click.option("--least", type=click.Choice(SEVERITIES), default="note", show_default=True, help="Lowest level shown.")
@click.option(
    "--fail-on", type=click.Choice(SEVERITIES), default="warning", show_default=True, help="Lowest level that exits 1."
)
@click.option("--fix", is_flag=True, help="Write the safe fixes into the files and show them.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, without changing it.")
@click.pass_context
def lint(
    ctx: click.Context,
    targets: tuple[str, ...],
    profile: str,
    contracts: tuple[str, ...],
    headers: tuple[str, ...],
    form: str,
    suppressions: Path | None,
    baseline: Path | None,
    write_baseline: bool,
    least: Severity,
    fail_on: Severity,
    fix: bool,
    diff: bool,
) -> None:
    """Find missing, contradictory or wrong tool metadata.

    TARGET is a URL, a file of tool definitions, a contract file, an OpenAPI document, a configuration,
    package.module:server or the name of a configured upstream; or a command after `--`. The servers of a client's
    configuration are started and asked. Exit code 1: there are findings (notes alone do not count), or a server
    was not checked.

    Example: assent lint contracts.yaml https://example.com/mcp
    """
    from assent.checks.lint.report import FORMATS
    from assent.checks.lint.run import all_rules, together
    from assent.checks.lint.run import lint as find
    from assent.checks.lint.suppressions import baseline_text, less, read_suppressions
    from assent.cli.shared.targets import chosen

    if write_baseline and baseline is None:
        raise click.UsageError("--write-baseline needs --baseline FILE.", ctx)
    if write_baseline and (fix or diff):
        raise click.UsageError("--write-baseline cannot be combined with --fix or --diff.", ctx)
    allowed = read_suppressions(suppressions, all_rules()) if suppressions is not None else []
    known = _load_baseline(baseline, write_baseline)
    targets = tuple(dict.fromkeys(targets))
    if fix or diff:
        named = [chosen(ctx, target, profile, contracts, headers) for target in targets or (None,)]
        fix_files(named, allowed, known, write=fix and not diff)
    reads = [
        read for target in targets or (None,) for read in chosen(ctx, target, profile, contracts, headers).read_all()
    ]
    for read in reads:
        if notice := _notice(read):
            click.echo(f"{visible(read.target.name)}: {visible(notice)}", err=True)
    report = together([find(read.target, suppressions=[*read.suppressions, *allowed], least=least) for read in reads])
    if write_baseline and baseline is not None:
        write_whole(baseline, baseline_text(report.findings, baseline.parent), "--baseline")
        click.echo(f"{baseline}: {counted(len(report.findings), 'finding')}", err=True)
        return
    report = report if known is None else less(report, known)
    text = FORMATS[form](report)
    if text:
        click.echo(text)
    ctx.exit(1 if report.fails(fail_on) or any(read.unchecked for read in reads) else 0)


def _notice(read: LintInput) -> str:
    """What was not checked in a target, and how to check it."""
    if read.unchecked:
        return f"not checked: {read.unchecked}"
    if upstreams := _upstreams_in(read.target.configuration):
        return f"its upstreams were not checked; lint them by name: `assent lint {' '.join(upstreams)}`"
    return "" if read.target.subjects or read.target.configuration else "it contains no tools"


def _upstreams_in(configuration: str) -> list[str]:
    from assent.contract.yaml_document import YamlDocument

    value = YamlDocument(configuration).value if configuration else None
    named = value.get("upstreams") if isinstance(value, dict) else None
    return list(named) if isinstance(named, dict) else []


def _load_baseline(baseline: Path | None, to_write: bool) -> Baseline | None:
    """The baseline; a baseline to be written may be missing or empty, but not another kind of file."""
    from assent.checks.lint.suppressions import read_baseline

    if baseline is None or (to_write and not (baseline.is_file() and baseline.stat().st_size)):
        return None
    return read_baseline(baseline)


def fix_files(named: Sequence[Chosen], allowed: Sequence[Suppression], known: Baseline | None, *, write: bool) -> None:
    """Shows the changes to the files of the targets and, with `write`, makes them."""
    from assent.checks.lint.fixer import write_all
    from assent.checks.lint.sources import fixable_files

    files = {file.resolve(): (file, one) for one in named for file in fixable_files(_file_of(one))}
    fixed_files = [_fix_one(file, named_profile(one.profile), allowed, known) for file, one in files.values()]
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
    from assent.checks.lint.fixer import fix_file
    from assent.checks.lint.run import all_rules, lint
    from assent.checks.lint.sources import read_text
    from assent.checks.lint.suppressions import less

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
