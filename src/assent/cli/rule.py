"""`assent rule`: explains a lint rule or a guard."""

from __future__ import annotations

import difflib
import inspect
import json

import click

from assent.errors import Fault, SettingsError
from assent.guards import RULES
from assent.lint import Rule, all_rules
from assent.lint.docs_table import rules_table


@click.command()
@click.argument("name", required=False)
@click.option("--markdown", is_flag=True, help="Print the table of lint rules for the documentation.")
def rule(name: str | None, markdown: bool) -> None:
    """Explain a lint rule or a guard; without NAME, list all of them.

    Example: assent rule hints-missing
    """
    if markdown:
        click.echo(rules_table())
        return
    if name is None:
        for one in all_rules().values():
            click.echo(f"{one.name}\t{one.severity}\t{one.summary}")
        for guard, kind in sorted(RULES.items()):
            click.echo(f"{guard}\tguard\t{_first_line(kind.__doc__)}")
        return
    if name in all_rules():
        click.echo(_explanation(all_rules()[name]))
    elif name in RULES:
        click.echo(f"{name} (guard)\n\n{inspect.cleandoc(RULES[name].__doc__ or '')}")
    else:
        close = difflib.get_close_matches(name, [*all_rules(), *RULES], n=1)
        remedy = f"Did you mean {close[0]}?" if close else "`assent rule` lists all of them"
        raise SettingsError(Fault(f"{name!r} is not a rule or a guard", remedy))


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


def _first_line(text: str | None) -> str:
    return inspect.cleandoc(text or "").split("\n")[0]
