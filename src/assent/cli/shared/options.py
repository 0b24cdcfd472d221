"""Options and helpers shared by several commands."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from assent.core.principal import AT_THE_COMMAND_LINE, Principal

Command = TypeVar("Command", bound=Callable[..., Any])


def config_option(command: Command) -> Command:
    """Adds `-c FILE`, the configuration to use."""
    return click.option(
        "-c",
        "--config",
        "config",
        type=click.Path(path_type=Path, dir_okay=False),
        help="The configuration file. Default: ./assent.yaml, then the user's own.",
    )(command)


def to_be_asked(yes: bool, remedy: str = "In a script, add --yes.") -> bool:
    """Whether to ask for confirmation before an irreversible step; without a terminal, --yes is required."""
    if not yes and not sys.stdin.isatty():
        raise click.UsageError(f"There is no terminal for the confirmation, so nothing was done. {remedy}")
    return not yes


def operator() -> Principal:
    """The person at the command line: the operating-system user as a human principal with the role operator."""
    name = _user()
    return Principal(AT_THE_COMMAND_LINE + name, "human", scopes=frozenset({"*"}), roles=frozenset({"operator"}))


def console_person() -> Principal:
    """The same person in the console, with every role."""
    roles = frozenset({"viewer", "approver", "operator", "auditor", "admin"})
    return replace(operator(), roles=roles)


def _user() -> str:
    """The user name from the system, not from a variable, so that one person cannot be two."""
    if sys.platform == "win32":
        return getpass.getuser()
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
