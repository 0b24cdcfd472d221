"""What can be done from a command line?"""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module

import click

from assent.errors import AssentError, FaultsError

# Each command lives in a module of its own and is imported when it is called.
COMMANDS = {
    "approvals": "See and decide what waits for a person.",
    "audit": "Read the log, prove what it says, and find out whether it was altered.",
    "classify": "Say what tools probably do, from their definitions.",
    "claims": "See what was started, and settle what is in doubt.",
    "console": "Print a link that signs you in to the console.",
    "contract": "Show contracts, and the schema of contract files.",
    "init": "Put assent wrap before the servers of a desktop client.",
    "keys": "Make, list and revoke the keys by which callers are known.",
    "serve": "Govern every call to the configured upstreams.",
    "wrap": "Govern one server on standard streams, as a client starts it.",
    "demo": "A demo upstream and the gateway in front of it, ready to try.",
    "decide": "Explain one call, stage by stage, without running it.",
    "store": "Bring the store's schema up to date, and check what it holds.",
    "hosts": "Say what each host and each directory will make of every tool.",
    "lint": "Find what is missing, contradictory or wrong in what tools say of themselves.",
    "pin": "Record or check the digests of tool definitions.",
    "rule": "Explain a lint rule or a guard.",
    "verify": "Call tools and compare what happened with what was promised.",
}


class Commands(click.Group):
    """The commands, found by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"assent.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="assent")
def cli() -> None:
    """Tool contracts for the Model Context Protocol: declared once, derived everywhere, enforced on every call."""


def main() -> None:
    """Run a command. Exit codes: 0 clean, 1 findings or refusals, 2 wrong usage or configuration."""
    try:
        code = cli.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.Abort:
        click.echo("Stopped.", err=True)
        sys.exit(130)
    except FaultsError as error:
        for fault in error.faults:
            click.echo(f"error: {fault}", err=True)
        sys.exit(2)
    except AssentError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        _write_no_more()
        sys.exit(0)
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise
        _write_no_more()
        click.echo(f"error: not everything could be written: {error.strerror}. Make room and try again", err=True)
        sys.exit(2)


def _write_no_more() -> None:
    """Keep the interpreter from trying once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
