"""Atomic file replacement: writes the new content beside the old file, ready for one rename."""

import errno
import os
import secrets
import stat
import sys
from pathlib import Path

from assent.errors import Fault, SettingsError


def is_protected(target: Path) -> bool:
    """Whether the file is read-only and must not be replaced: a rename ignores the file's own permissions."""
    return target.exists() and not (os.access(target, os.W_OK) and target.stat().st_mode & stat.S_IWUSR)


def draft(target: Path, content: bytes) -> Path:
    """Write a temporary file with this content beside the target and sync it to disk; one rename then replaces the
    target.

    The file gets the owner and permissions of the target, and at no time can a user read it who cannot read the
    target. Raises OSError if it cannot be made or the target is protected.
    """
    if is_protected(target):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    current = target.stat() if target.exists() else None
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if current is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if current is not None:
            beside.chmod(stat.S_IMODE(current.st_mode) & _rights_of(beside, current))
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    return beside


def _rights_of(beside: Path, current: os.stat_result) -> int:
    """Give the file the owner and group of another; return a mask without group rights if the group cannot be set."""
    if sys.platform == "win32":
        return 0o7777
    now = beside.stat()
    for owner in (current.st_uid, -1):
        try:
            if (now.st_uid, now.st_gid) != (current.st_uid, current.st_gid):
                os.chown(beside, owner, current.st_gid)
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
