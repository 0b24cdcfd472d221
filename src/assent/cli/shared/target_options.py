"""The TARGET of a command, and the options for reading it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from assent.contract.profiles import profile_names

COMMAND = "assent.command"
"""The key of the command after `--` in the context of a click command."""
Command = TypeVar("Command", bound=Callable[..., Any])


class TargetCommand(click.Command):
    """A command whose TARGET may also be `-- COMMAND [ARG...]`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[COMMAND] = tuple(args[at + 1 :])
            if not ctx.meta[COMMAND]:
                raise click.UsageError("There is no command after `--`.", ctx)
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND [ARG...]]"]


def target_options(command: Command) -> Command:
    """Adds TARGET and the options for reading it."""
    return click.argument("target", required=False)(reading_options(command))


def reading_options(command: Command) -> Command:
    """Adds the options for reading a target."""
    for decorate in reversed(
        (
            click.option("--profile", type=click.Choice(profile_names()), default="spec", show_default=True,
                         help="The profile for contracts and rules; a configuration may set its own."),
            click.option("--contracts", multiple=True, metavar="PATTERN", help="Contract files for the definitions."),
            click.option("--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="A header for a URL."),
        )
    ):  # fmt: skip
        command = decorate(command)
    return command
