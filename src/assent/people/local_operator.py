"""The person who runs Assent on this machine: the operating-system user, as an operator."""

from __future__ import annotations

import getpass
import os
import sys
from dataclasses import replace

from assent.core.principal import AT_THE_COMMAND_LINE, ROLES, Principal


def operator() -> Principal:
    """The person at the command line: the operating-system user as a human principal with the role operator."""
    name = _user()
    return Principal(AT_THE_COMMAND_LINE + name, "human", scopes=frozenset({"*"}), roles=frozenset({"operator"}))


def console_person() -> Principal:
    """The same person in the console, with every role."""
    return replace(operator(), roles=frozenset(ROLES))


def _user() -> str:
    """The user name from the system, not from a variable, so that one person cannot be two."""
    if sys.platform == "win32":
        return getpass.getuser()
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
