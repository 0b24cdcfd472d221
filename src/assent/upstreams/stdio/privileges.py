"""Starts children without the privileges of a gateway that runs as root."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

_CAP_SETPCAP = 8
_DROP = ("--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", "--")


def unprivileged(command: Sequence[str], env: Mapping[str, str], cwd: str | None) -> list[str]:
    """The command, without capabilities and new privileges where the gateway is root.

    Raises FileNotFoundError or PermissionError as starting it would.
    """
    prefix = dropping_command()
    if prefix and shutil.which(command[0], path=env.get("PATH")) is None:
        _raise_why(Path(cwd or ".", command[0]))
    return [*prefix, *command]


def _raise_why(path: Path) -> None:
    if "/" in str(path) and path.is_file():
        raise PermissionError(13, os.strerror(13), str(path))
    raise FileNotFoundError(2, os.strerror(2), str(path))


@cache
def dropping_command() -> tuple[str, ...]:
    """The words before a command that drop every capability; none are needed if the gateway is not root."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return ()
    held = _held_capabilities()
    if not held:
        return ()
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return ()
    return (setpriv, *(_DROP if held >> _CAP_SETPCAP & 1 else (*_DROP[:2], _DROP[-1])))


def _held_capabilities() -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("CapPrm:"):
            return int(line.split()[1], 16)
    return 0
