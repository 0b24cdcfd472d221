"""`assent rule`: explains a lint rule or a guard."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from assent.errors import Fault, SettingsError

if TYPE_CHECKING:
    from assent.checks.lint.rule import Rule


@click.command()
@click.argument("name", required=False)
@click.option("--list", "listed", is_flag=True, help="Print names, one per line: all, `guards` or `lint`.")
@click.option("--markdown", is_flag=True, help="Print the table of lint rules for the documentation.")
def rule(name: str | None, listed: bool, markdown: bool) -> None:
    """Explain a lint rule or a guard; without NAME, list all of them.

    Examples: assent rule hints-missing; assent rule --list guards
    """
    from assent.checks.lint.run import all_rules
    from assent.rules.guards.registry import explanation_of, rule_class, rule_names

    if markdown:
        click.echo(_table(all_rules().values()))
    elif listed:
        click.echo("\n".join(_names(name)))
    elif name is None:
        _list_all()
    elif name in all_rules():
        click.echo(_explanation(all_rules()[name]))
    elif name in rule_names():
        click.echo(explanation_of(rule_class(name)))
    else:
        close = difflib.get_close_matches(name, _names(None), n=1)
        remedy = f"Did you mean {close[0]}?" if close else "`assent rule` lists all of them"
        raise SettingsError(Fault(f"{name!r} is not a rule or a guard", remedy))


def _names(which: str | None) -> list[str]:
    from assent.checks.lint.run import all_rules
    from assent.rules.guards.registry import rule_names

    if which not in (None, "guards", "lint"):
        raise SettingsError(Fault(f"{which!r} cannot be listed", "Write --list, --list guards or --list lint"))
    lint = list(all_rules()) if which != "guards" else []
    return [*lint, *(rule_names() if which != "lint" else ())]


def _list_all() -> None:
    from assent.checks.lint.run import all_rules
    from assent.rules.guards.registry import rule_class, rule_names, summary_of

    for one in all_rules().values():
        click.echo(f"{one.name}\t{one.severity}\t{one.summary}")
    for guard in rule_names():
        click.echo(f"{guard}\tguard\t{summary_of(rule_class(guard))}")


def _table(rules: Iterable[Rule]) -> str:
    """A Markdown table of the rules: name, severity, profile, subject, fix."""
    lines = ["| rule | severity | profile | about | fix | by `--fix` |", "|---|---|---|---|---|---|"]
    for one in rules:
        excepted = f"all but {', '.join(one.except_profiles)}" if one.except_profiles else "all"
        profiles = ", ".join(one.profiles) or excepted
        cells = (f"`{one.name}`", one.severity, profiles, one.summary, one.fix, "where safe" if one.mend else "—")
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def _explanation(one: Rule) -> str:
    under = f", under --profile {' or '.join(one.profiles)}" if one.profiles else ""
    return "\n".join(
        (
            f"{one.name} ({one.severity}{under})",
            "",
            one.summary,
            "",
            f"Why: {one.why}",
            f"Fix: {one.fix}",
            *(["`assent lint --fix` fixes it in files, where that is safe."] if one.mend else []),
            "",
            "Found in:",
            *(f"  {json.dumps(example, ensure_ascii=True)}" for example in one.flags),
            "Not found in:",
            *(f"  {json.dumps(example, ensure_ascii=True)}" for example in one.passes),
        )
    )
