"""The one writer of files: a file is written completely or not at all."""

import errno
import os
import secrets
import stat
import sys
from pathlib import Path

from assent.errors import Fault, SettingsError


class Disk:
    """Durable file operations. Each is complete when it returns; after a crash it is complete or has no effect."""

    def read(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None

    def replace(self, path: Path, data: bytes, *, mode: int = 0o644, durable: bool = True) -> None:
        """Write the file, replacing its content and permissions."""
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.write_beside(path, data, mode=mode, durable=durable)
        try:
            self.rename(beside, path)
        finally:
            beside.unlink(missing_ok=True)
        if durable:
            self.sync_directory(path.parent)

    def create(self, path: Path, data: bytes, *, mode: int = 0o644) -> None:
        """Create a new file, never half-written; raises FileExistsError if it exists."""
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.write_beside(path, data, mode=mode)
        try:
            self.link(beside, path)
        finally:
            beside.unlink()
        self.sync_directory(path.parent)

    def create_in_place(self, path: Path, data: bytes, *, mode: int = 0o644) -> None:
        """Like `create`, for places that forbid renaming and removing; after a crash the file can be partial."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._write_new(path, data, mode, True)
        self.sync_directory(path.parent)

    def write_beside(self, path: Path, data: bytes, *, mode: int, durable: bool = True) -> Path:
        """Write a temporary file with a new name beside the path."""
        beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
        try:
            self._write_new(beside, data, mode, durable)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        return beside

    def _write_new(self, path: Path, data: bytes, mode: int, durable: bool) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            self.write(descriptor, data)
            if durable:
                self.sync(descriptor)
        finally:
            os.close(descriptor)

    def write(self, descriptor: int, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]

    def sync(self, descriptor: int) -> None:
        os.fsync(descriptor)

    def rename(self, source: Path, target: Path) -> None:
        source.replace(target)

    def link(self, source: Path, target: Path) -> None:
        os.link(source, target)

    def sync_directory(self, path: Path) -> None:
        if os.name != "posix":
            return
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


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
    beside = Disk().write_beside(target, content, mode=0o666 if current is None else 0o600)
    try:
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


def read_text(place: Path, remedy: str) -> str:
    """The text of a file that the user named, as it is. Raises SettingsError with the reason and the remedy."""
    try:
        return place.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise SettingsError(Fault(f"cannot be read: {reason}", remedy, file=str(place))) from None


def write_whole(place: Path, text: str, option: str) -> None:
    """Write a file that an option names, in one step: readers see the old or the new content, never a part.

    A symbolic link stays one, and the file keeps its permissions. Raises SettingsError if it cannot be written.
    """
    data = text.encode()
    try:
        if place.exists() and not place.is_file():
            place.write_bytes(data)  # a pipe or a terminal cannot be replaced
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
