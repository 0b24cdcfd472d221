"""How does a test let SQLite's n-th write fail? SQLite has a hook for it, which this process alone uses."""

from __future__ import annotations

import _sqlite3
import ctypes
from typing import Any

_NAMES = (b"pwrite64", b"pwrite")
_Write = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, use_errno=True
)
_Set = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_Get = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)


class _System(ctypes.Structure):
    """`sqlite3_vfs` up to what we use."""

    _fields_ = [
        ("version", ctypes.c_int),
        ("file_size", ctypes.c_int),
        ("longest_path", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        *[(f"method_{number}", ctypes.c_void_p) for number in range(13)],
        ("set_call", _Set),
        ("get_call", _Get),
    ]


class FailingDisk:
    """Counts SQLite's writes from now on; the n-th fails with an error number, or all from it on."""

    def __init__(self, nth: int | None, error: int, *, lasting: bool) -> None:
        self.writes, self._nth, self._error, self._lasting = 0, nth, error, lasting
        library = ctypes.CDLL(getattr(_sqlite3, "__file__", None))
        library.sqlite3_vfs_find.restype = ctypes.POINTER(_System)
        library.sqlite3_vfs_find.argtypes = [ctypes.c_char_p]
        self._system = library.sqlite3_vfs_find(None)
        self._kept: list[Any] = [self._replace(name) for name in _NAMES]

    def _replace(self, name: bytes) -> Any:
        found = self._system.contents.get_call(self._system, name)
        if not found:
            return None
        real = _Write(found)

        def write(file: int, data: int, size: int, place: int) -> int:
            number, self.writes = self.writes, self.writes + 1
            if self._nth is not None and (number == self._nth or (self._lasting and number > self._nth)):
                ctypes.set_errno(self._error)
                return -1
            done: int = real(file, data, size, place)
            return done

        ours = _Write(write)
        assert self._system.contents.set_call(self._system, name, ctypes.cast(ours, ctypes.c_void_p)) == 0
        return real, ours
