"""Durable file operations: a file is written completely or not at all."""

import os
from pathlib import Path


class Disk:
    """Durable file operations. Each is complete when it returns; after a crash it is complete or has no effect."""

    def read(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None

    def replace(self, path: Path, data: bytes, *, mode: int = 0o644, durable: bool = True) -> None:
        """Write the file, replacing its content."""
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.new")
        self._write(temporary, data, os.O_TRUNC, mode, durable)
        self.rename(temporary, path)
        if durable:
            self.sync_directory(path.parent)

    def create(self, path: Path, data: bytes, *, mode: int = 0o644) -> None:
        """Create a new file, never half-written; raises FileExistsError if it exists."""
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.new")
        self._write(temporary, data, os.O_TRUNC, mode, True)
        try:
            self.link(temporary, path)
        finally:
            temporary.unlink()
        self.sync_directory(path.parent)

    def create_in_place(self, path: Path, data: bytes, *, mode: int = 0o644) -> None:
        """Like `create`, for places that forbid renaming and removing; after a crash the file can be partial."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._write(path, data, os.O_EXCL, mode, True)
        self.sync_directory(path.parent)

    def append(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._write(path, data, os.O_APPEND, 0o644, True)

    def cut(self, path: Path, size: int) -> None:
        os.truncate(path, size)

    def _write(self, path: Path, data: bytes, flags: int, mode: int, durable: bool) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | flags, mode)
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
