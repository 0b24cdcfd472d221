"""Replaces files in one step: nobody who reads meanwhile sees half of one."""

import errno
import os
import secrets
import stat
import sys
from pathlib import Path

from assent.errors import Fault, SettingsError


def is_protected(home: Path) -> bool:
    """Whether what stands there is not to be replaced: a rename would not ask."""
    return home.exists() and not (os.access(home, os.W_OK) and home.stat().st_mode & stat.S_IWUSR)


def draft(home: Path, content: bytes) -> Path:
    """A file beside its place with this content, safely on the disk; one rename puts it there.

    It has the owner and the rights of what stands there now, and nobody who may not read that reads it, not even for a
    moment. Raises OSError where it cannot be made, or what stands there is protected.
    """
    if is_protected(home):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    was = home.stat() if home.exists() else None
    beside = home.with_name(f".{home.name}.{secrets.token_hex(4)}.new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if was is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if was is not None:
            beside.chmod(stat.S_IMODE(was.st_mode) & _rights_of(beside, was))
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    return beside


def _rights_of(beside: Path, was: os.stat_result) -> int:
    """Give a file the owner and group that another has; all rights stay, but those of a group it cannot have."""
    if sys.platform == "win32":
        return 0o7777
    now = beside.stat()
    for owner in (was.st_uid, -1):
        try:
            if (now.st_uid, now.st_gid) != (was.st_uid, was.st_gid):
                os.chown(beside, owner, was.st_gid)
        except OSError:
            continue
        return 0o7777
    return 0o7707


def write_whole(place: Path, text: str, option: str) -> None:
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
