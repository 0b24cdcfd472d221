"""Which options do several commands share?"""

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
from assent.errors import Fault, SettingsError
from assent.files import draft

Command = TypeVar("Command", bound=Callable[..., Any])


def config_option(command: Command) -> Command:
    """`-c FILE`: the configuration to use."""
    return click.option(
        "-c",
        "--config",
        "config",
        type=click.Path(path_type=Path, dir_okay=False),
        help="The configuration file; without it ./assent.yaml, then the user's own.",
    )(command)


def written_to(place: Path, text: str, option: str) -> None:
    """Write a file that an option names, in one step: whoever reads it meanwhile, or after a fault, has a whole one.

    A link stays one, and the rights of a file stay as they were. Raises SettingsError where that cannot be.
    """
    data = text.encode()
    try:
        if place.exists() and not place.is_file():
            place.write_bytes(data)  # a pipe or a terminal is nothing to be replaced
        else:
            _replace(place.resolve(), data)
    except (OSError, RuntimeError) as error:  # the latter for links that lead to each other
        reason = getattr(error, "strerror", None) or "it is a link to itself"
        fault = Fault(f"{place} cannot be written: {reason}", "Choose another place", option)
        raise SettingsError(fault) from None


def _replace(file: Path, data: bytes) -> None:
    beside = draft(file, data)
    try:
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)


def to_be_asked(yes: bool, remedy: str = "In a script, add --yes.") -> bool:
    """Whether a person is asked before what cannot be taken back; where no terminal is, --yes must be given."""
    if not yes and not sys.stdin.isatty():
        raise click.UsageError(f"There is no terminal to ask at, so nothing was done. {remedy}")
    return not yes


def operator() -> Principal:
    """The person at the command line: a human, the operating-system user; a key of that name is theirs."""
    name = _user()
    return Principal(AT_THE_COMMAND_LINE + name, "human", scopes=frozenset({"*"}), roles=frozenset({"operator"}))


def console_person() -> Principal:
    """The same person in the console, where they may do everything."""
    roles = frozenset({"viewer", "approver", "operator", "auditor", "admin"})
    return replace(operator(), roles=roles)


def _user() -> str:
    """As the system knows them, not as a variable says: one person must not be two by setting it."""
    if sys.platform == "win32":
        return getpass.getuser()
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
