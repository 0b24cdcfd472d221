"""`assent hosts`: shows how hosts and directories will treat each tool."""

from __future__ import annotations

import click
from click.core import ParameterSource

from assent.cli.shared.options import TargetCommand, target_options
from assent.core.question import visible
from assent.errors import Fault, SettingsError


@click.command(cls=TargetCommand)
@target_options
@click.option("--format", "form", type=click.Choice(["text", "json", "html"]), default="text", show_default=True)
@click.option(
    "--submission",
    "directory",
    type=click.Choice(["anthropic", "openai"]),
    help="Print the JSON that this directory expects: every hint with its justification.",
)
@click.pass_context
def hosts(
    ctx: click.Context,
    target: str | None,
    profile: str,
    contracts: tuple[str, ...],
    headers: tuple[str, ...],
    form: str,
    directory: str | None,
) -> None:
    """Show which hosts will run each tool of TARGET without asking, and what each directory's reviewer will object to.

    With --submission, print the contracts of TARGET in the form that the directory expects.

    Example: assent hosts contracts.yaml
    """
    from assent.checks.hosts.matrix import matrix
    from assent.checks.hosts.submission import FORMATS, is_unseen, submission
    from assent.checks.lint.rule import indented_json
    from assent.cli.shared.targets import chosen

    if directory and form != "json" and ctx.get_parameter_source("form") is ParameterSource.COMMANDLINE:
        raise click.UsageError("A submission is JSON: leave out --format, or use json.", ctx)
    given = chosen(ctx, target, directory or profile, contracts, headers).read().target
    if not given.subjects:
        raise SettingsError(Fault("it contains no tools", "Name a server, or a file with definitions or contracts"))
    if directory is None:
        click.echo(FORMATS[form](given.name, matrix(given)))
        return
    unseen = [tool.name for tool in given.subjects if is_unseen(tool)]
    if unseen:
        click.echo(f"Left out, because they are hidden from agents: {visible(', '.join(unseen))}", err=True)
    try:
        click.echo(indented_json(submission(given, directory)))
    except SettingsError as error:
        for fault in error.faults:
            click.echo(f"error: {visible(str(fault))}", err=True)
        ctx.exit(1)
