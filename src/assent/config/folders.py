"""The folders of the user who runs this process. Imports the standard library alone."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

REMEDY = "Set HOME, or XDG_CONFIG_HOME and XDG_STATE_HOME"


class NoHome(Exception):
    """There is no folder for this user's files; the text says why."""


def home(environment: Mapping[str, str] = os.environ) -> str:
    """The home folder of the user. Raises NoHome if there is none, or if root would write into another's."""
    named = _absolute(environment, "HOME")
    if not named:
        named = os.path.expanduser("~") if os.name == "nt" else _known_home()
    invoker = environment.get("SUDO_UID", "")
    if invoker.isdecimal() and hasattr(os, "geteuid") and os.geteuid() == 0 and _owner(named) == int(invoker) != 0:
        raise NoHome(
            f"this is root, but the home folder is still {named} of the user who ran sudo: files made there could not"
            " be used by them. Run it without sudo, or with `sudo -H`"
        )
    return named


def config_folder(environment: Mapping[str, str] = os.environ) -> str:
    """The folder of the user's own configuration."""
    return (_absolute(environment, "XDG_CONFIG_HOME") or home(environment) + "/.config") + "/assent"


def state_folder(environment: Mapping[str, str] = os.environ) -> str:
    """The folder of the user's own store and keys."""
    return (_absolute(environment, "XDG_STATE_HOME") or home(environment) + "/.local/state") + "/assent"


def expand(path: str, environment: Mapping[str, str] = os.environ) -> str:
    """A path that may begin with the user's home folder, in full."""
    return home(environment) + path[1:] if path.startswith("~/") else path


def _absolute(environment: Mapping[str, str], name: str) -> str:
    """The folder in a variable. What is not a full path counts as not set: it would mean another one elsewhere."""
    named = environment.get(name, "")
    return named.rstrip("/") or "/" if os.path.isabs(named) else ""


def _known_home() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        raise NoHome(f"HOME is not set, and the system knows no home folder of this user. {REMEDY}") from None


def _owner(folder: str) -> int:
    try:
        return os.stat(folder).st_uid
    except OSError:
        return -1
