"""`assent hosts`: what will each host and each directory make of every tool?"""

from __future__ import annotations

import click

from assent.commands.targets import TargetCommand, chosen, target_options
from assent.hosts import matrix, submission
from assent.hosts.pages import FORMATS
from assent.lint.document import written


@click.command(cls=TargetCommand)
@target_options
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="text", show_default=True)
@click.option(
    "--submission",
    "directory",
    type=click.Choice(["anthropic", "openai"]),
    help="Write what this directory wants to be handed: every hint with its justification.",
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
    """Say which hosts will run each tool of TARGET without asking, and what each directory's reviewer will say.

    With --submission, the contracts of TARGET are said as that directory wants them.
    """
    read = chosen(ctx, target, directory or profile, contracts, headers).read()
    if directory is not None:
        click.echo(written(submission(read.target, directory)))
        return
    click.echo(FORMATS[form](read.target.name, matrix(read.target)))
