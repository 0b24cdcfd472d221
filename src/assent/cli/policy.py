"""`assent policy`: checks, explains, tests and compares policies, and tries rules on recorded history."""

from __future__ import annotations

from importlib import import_module

import click

# Each subcommand has a module of its own, `policy_NAME`, which is imported when the subcommand runs.
SUBCOMMANDS = {
    "check": "Validate the policies and say what each applies to.",
    "diff": "Find requests that two sets of policies decide differently.",
    "explain": "Show which policies decide about one call.",
    "replay": "Decide recorded calls again under changed settings.",
    "suggest": "Suggest guards and scopes that recorded calls kept to.",
    "test": "Run cases: principal, tool, arguments, and the expected decision.",
}


class Subcommands(click.Group):
    """The subcommands by name, imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUBCOMMANDS:
            return None
        command: click.Command = getattr(import_module(f"assent.cli.policy_{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(SUBCOMMANDS.items()))


@click.command(cls=Subcommands)
def policy() -> None:
    """Check, explain, test and compare policies, and try guards, limits, contracts and policies on history.

    Example: assent policy check -c assent.yaml
    """
