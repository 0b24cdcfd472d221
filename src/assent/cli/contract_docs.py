"""`assent contract docs`: prints a Markdown table of tools and keeps pages up to date with it."""

from __future__ import annotations

from pathlib import Path

import click

from assent.cli.shared.options import config_option
from assent.cli.shared.target_options import TargetCommand, target_options
from assent.errors import Fault, SettingsError
from assent.files import write_whole

_File = click.Path(path_type=Path, dir_okay=False)


@click.command(cls=TargetCommand, short_help="Print a Markdown table of tools, or keep a page up to date.")
@target_options
@click.option("--check", type=_File, help="Exit with 1 if the table in this page differs.")
@click.option("--write", type=_File, help="Write the table into this page.")
@click.option(
    "--sort",
    type=click.Choice(["declared", "safety"]),
    default="declared",
    show_default=True,
    help="The order of the tools; safety: the riskiest first.",
)
@config_option
@click.pass_context
def docs(
    ctx: click.Context,
    target: str | None,
    profile: str,
    contracts: tuple[str, ...],
    headers: tuple[str, ...],
    check: Path | None,
    write: Path | None,
    sort: str,
    config: Path | None,
) -> None:
    """Print the table of TARGET's tools in Markdown, or check or write it in a page.

    Without TARGET, the table shows the contracts of the configuration. In a page, the table is between the lines
    `<!-- assent:tools -->` and `<!-- /assent:tools -->`; each must be alone on its line and occur once.

    Example: assent contract docs contracts.yaml --write README.md
    """
    from assent.checks.lint.markdown_table import by_safety, drift, excluded_table, placed, table
    from assent.cli.shared.openapi import api_of
    from assent.cli.shared.targets import chosen, names_nothing
    from assent.config.load import find_file

    if check is not None and write is not None:
        raise click.UsageError("--check and --write exclude each other.", ctx)
    if names_nothing(ctx, target):
        target = str(find_file(config))
    read = chosen(ctx, target, profile, contracts, headers).read().target
    if read.configuration and not read.subjects:
        remedy = "List contract files under `contracts:`, or name a server: a URL or a command after `--`"
        raise SettingsError(Fault("the configuration lists no contracts", remedy, file=target or ""))
    made = table(by_safety(read.subjects) if sort == "safety" else read.subjects)
    api = api_of(Path(target)) if target and Path(target).is_file() else None
    if api is not None and api.excluded:
        made += "\n\n" + excluded_table([(f"{one.method.upper()} {one.path}", one.reason) for one in api.excluded])
    if check is not None:
        lines = drift(_page(check), made, str(check))
        for line in lines:
            click.echo(line)
        ctx.exit(1 if lines else 0)
    if write is not None:
        write_whole(write, placed(_page(write), made, str(write)), "--write")
        return
    click.echo(made)


def _page(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise SettingsError(Fault(f"cannot be read: {reason}", "Correct the path", file=str(path))) from None
