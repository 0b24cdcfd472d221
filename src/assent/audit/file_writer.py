"""How does a file get there whole, or not at all?"""

import os
from pathlib import Path


class Disk:
    """Durable file operations; each is done when it returns, and after a crash it is done or undone."""

    def read(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None

    def replace(self, path: Path, data: bytes, *, mode: int = 0o644, durable: bool = True) -> None:
        """The file has this content, whatever it had before."""
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.new")
        self._write(temporary, data, os.O_TRUNC, mode, durable)
        self.rename(temporary, path)
        if durable:
            self.sync_directory(path.parent)

    def create(self, path: Path, data: bytes, *, mode: int = 0o644) -> None:
        """The file is new; FileExistsError if there is one already. A half-written one is never seen."""
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.new")
        self._write(temporary, data, os.O_TRUNC, mode, True)
        try:
            self.link(temporary, path)
        finally:
            temporary.unlink()
        self.sync_directory(path.parent)

    def create_in_place(self, path: Path, data: bytes, *, mode: int = 0o644) -> None:
        """As `create`, where nothing may be renamed or removed; after a crash it may be there in part."""
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
