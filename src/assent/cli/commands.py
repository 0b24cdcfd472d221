"""The `assent` command line."""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module

import click

from assent.errors import AssentError, FaultsError
from assent.features import missing_package

# Each command has a module of its own, which is imported when the command runs.
COMMANDS = {
    "add": "Add a server to the configuration.",
    "doctor": "Find what is wrong with this installation, with the fix.",
    "approvals": "List and decide the calls that wait for a person.",
    "audit": "Read, verify and export the audit log.",
    "classify": "Infer what tools do from their definitions.",
    "claims": "List started calls and settle those in doubt.",
    "console": "Print a link that signs you in to the console.",
    "contract": "Show, draft and document contracts.",
    "engine": "Show or end the process that wrapped servers share.",
    "hook": "Answer one hook event of a coding agent.",
    "init": "Put Assent before the servers of an MCP client.",
    "keys": "Create, list and revoke API keys.",
    "login": "Connect an upstream that needs OAuth.",
    "serve": "Run the gateway over HTTP.",
    "trust": "Use the configuration found in a folder from now on.",
    "wrap": "Govern one server on standard input and output.",
    "demo": "Run a demo server with the gateway in front of it.",
    "decide": "Explain one call, stage by stage, without running it.",
    "stops": "Stop calls at once, and release them.",
    "store": "Migrate and check the store.",
    "drill": "Replay published attacks against this configuration.",
    "hosts": "Show how hosts and directories will treat each tool.",
    "lint": "Find missing, contradictory or wrong tool metadata.",
    "pin": "Record or check the digests of tool definitions.",
    "policy": "Check, test and compare policies, and try rules on history.",
    "sandbox": "Say what this machine can confine, and what a server needs.",
    "rule": "Explain a lint rule or a guard.",
    "verify": "Call tools and check that they keep their promises.",
}


SECTIONS = {
    "Begin": ("demo", "init", "add", "doctor"),
    "Govern calls": ("wrap", "serve", "contract", "pin", "policy"),
    "Decide and look": ("console", "approvals", "audit", "stops"),
    "Check servers": ("lint", "verify"),
}
MORE = "More"
"""The title of the commands that few people need often."""


class Commands(click.Group):
    """The commands by name, imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS:
            from difflib import get_close_matches

            for close in get_close_matches(args[0], COMMANDS, 1):
                ctx.fail(f"No such command '{args[0]}'. Did you mean '{close}'?")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"assent.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for title, names in _sections().items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), COMMANDS[name]) for name in names])


def _sections() -> dict[str, list[str]]:
    """The commands by what they are for. What no section names is needed rarely, or by programs."""
    named = [name for names in SECTIONS.values() for name in names]
    others = sorted(COMMANDS.keys() - set(named))
    return {title: list(names) for title, names in SECTIONS.items()} | ({MORE: others} if others else {})


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="assent")
def cli() -> None:
    """Tool contracts for the Model Context Protocol: declared once, enforced on every call.

    \b
    Examples:
      assent demo                           see it work, with its own server
      assent init --client cursor --write   govern the servers of your client
      assent wrap -- npx -y some-server     govern one server
      assent serve -c assent.yaml           govern many servers, for a team
      assent lint https://example.com/mcp   check what a server says of its tools
    """


def main() -> None:
    """Runs a command. Exit codes: 0 clean, 1 findings or refusals, 2 wrong usage or configuration."""
    try:
        sys.exit(_run())
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.Abort:
        click.echo("Stopped.", err=True)
        sys.exit(130)
    except ModuleNotFoundError as error:
        missing = missing_package(error)
        if missing is None:
            raise
        click.echo(f"error: {missing}", err=True)
        sys.exit(2)
    except FaultsError as error:
        for fault in error.faults:
            click.echo(f"error: {fault}", err=True)
        sys.exit(2)
    except AssentError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        _discard_output()
        sys.exit(0)
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES}:
            raise
        if error.filename is None:
            _discard_output()
        what = "the output is incomplete" if error.filename is None else f"{error.filename} cannot be used"
        remedy = "Free some space" if error.errno in {errno.ENOSPC, errno.EDQUOT} else "Correct this"
        click.echo(f"error: {what}: {error.strerror}. {remedy} and try again", err=True)
        sys.exit(2)


def _run() -> int:
    """Runs the command. Before a configuration of an unknown folder is used, the person at the terminal is asked."""
    from assent.config.trust import UntrustedError, trust

    while True:
        try:
            code = cli.main(standalone_mode=False)
            return code if isinstance(code, int) else 0
        except UntrustedError as error:
            from assent.cli.trust import agrees_to

            if not sys.stdin.isatty() or not sys.stderr.isatty() or not agrees_to(error.file):
                raise
            trust(error.file.parent)


def _discard_output() -> None:
    """Avoids a second error when standard output is flushed at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
