"""`assent verify`: calls the tools of a server you own and checks that they keep their promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from assent.cli.shared.options import TargetCommand, target_options

if TYPE_CHECKING:
    from assent.checks.verify.run import Calls


@click.command(cls=TargetCommand)
@target_options
@click.option(
    "--calls",
    type=click.Choice(["reads", "all"]),
    default="reads",
    show_default=True,
    help="Which tools to call. `all` has effects: use it on a test server.",
)
@click.option("--examples", type=click.IntRange(1, 200), default=5, show_default=True, help="Calls to try per tool.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, 3600, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="The time limit of one call.",
)
@click.option("--tool", "only", multiple=True, metavar="NAME", help="Only this tool; may be repeated.")
@click.option("--snapshot", metavar="COMMAND", help="A command that prints the server's state.")
@click.option("--database", metavar="URL", help="The server's database: sqlite:///path or postgresql://...")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def verify(
    ctx: click.Context,
    target: str | None,
    profile: str,
    contracts: tuple[str, ...],
    headers: tuple[str, ...],
    calls: Calls,
    examples: int,
    timeout: float,
    only: tuple[str, ...],
    snapshot: str | None,
    database: str | None,
    form: str,
) -> None:
    """Call the tools of TARGET with generated arguments and check that they keep their promises.

    TARGET is a server that you own: a URL, package.module:server, or a command after `--`. Only tools that claim to
    be read-only are called, unless you give `--calls all`, because calling the others has effects.

    Example: assent verify --calls all -- python my_server.py
    """
    from assent.cli.shared.targets import chosen
    from assent.cli.verify_process import Options, run

    what = chosen(ctx, target, profile, contracts, headers)
    ctx.exit(run(what, Options(calls, examples, timeout, only, snapshot, database, form)))
