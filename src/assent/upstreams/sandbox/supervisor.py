"""Watches the system calls of a confined or observed program.

The kernel holds each reported call until it is answered, and the answer is always "continue": the box stops, this
only sees. It runs in a thread of its own.
"""

from __future__ import annotations

import logging
import os
import select
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from fcntl import ioctl
from struct import Struct, unpack_from

from assent.upstreams.sandbox.grants import Attempt, Kind
from assent.upstreams.sandbox.network import asked_name
from assent.upstreams.sandbox.seccomp import CHANGES, OPENS, RUNS, call_number

logger = logging.getLogger(__name__)

_RECEIVE, _SEND, _SET_FLAGS = 0xC0502100, 0xC0182101, 0x40082104
_SYNC_WAKE_UP = 1
_NOTICE, _ANSWER = Struct("=QIIiIQ6Q"), Struct("=QqiI")
_CONTINUE = 1
_PAGE = 4096
_HERE = -100
_OPEN_CHANGES = os.O_CREAT | os.O_TRUNC
_PLACED = frozenset({
    "mkdirat", "mknodat", "unlinkat", "renameat", "renameat2", "linkat", "symlinkat", "fchmodat", "fchownat",
    "utimensat", "openat", "openat2", "execveat",
})  # fmt: skip
"""Calls whose path is relative to the folder in the argument before it."""

OnAttempt = Callable[[Attempt], None]


class Supervisor:
    """Answers the reports of one filter until every process under it has ended."""

    def __init__(self, descriptor: int, on_attempt: OnAttempt) -> None:
        self._descriptor, self._on_attempt = descriptor, on_attempt
        self._names = {call_number(name): name for name in (*CHANGES, *OPENS, *RUNS, "connect", "sendto", "sendmmsg")}
        with suppress(OSError):  # Newer kernels then wake the program on the same processor, which is faster.
            ioctl(descriptor, _SET_FLAGS, _SYNC_WAKE_UP)
        self._thread = threading.Thread(target=self._watch, name="assent-sandbox", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        try:
            while not any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll()):
                self._take()
        finally:
            os.close(self._descriptor)

    def _take(self) -> None:
        notice = bytearray(_NOTICE.size)
        try:
            ioctl(self._descriptor, _RECEIVE, notice)
        except OSError:  # The caller ended meanwhile.
            return
        number, pid, _, call, _, _, *arguments = _NOTICE.unpack(notice)
        try:
            for attempt in attempts_of(self._names.get(call, ""), pid, arguments):
                self._on_attempt(attempt)
        except OSError:
            pass  # It ended, or its memory cannot be read: what it does is confined all the same.
        except Exception:
            logger.exception("a system call could not be read")
        try:
            ioctl(self._descriptor, _SEND, _ANSWER.pack(number, 0, 0, _CONTINUE))
        except OSError:
            return


def attempts_of(name: str, pid: int, arguments: list[int]) -> list[Attempt]:
    """What a reported system call tries to do."""
    if name in CHANGES:
        found = [Attempt("write", _path(pid, name, arguments, CHANGES[name]))]
        if name.startswith("rename"):
            source = "rename" if name == "rename" else "renameat"
            found.append(Attempt("write", _path(pid, source, arguments, 0 if name == "rename" else 1)))
        return found
    if name in OPENS:
        position = OPENS[name]
        path = _path(pid, name, arguments, position)
        flags = unpack_from("=Q", _memory(pid, arguments[2], 8))[0] if name == "openat2" else arguments[position + 1]
        return [Attempt(_opening(path, flags), path)]
    if name in RUNS:
        return [Attempt("run", _path(pid, name, arguments, RUNS[name]))]
    if name == "connect":
        return _connecting(_memory(pid, arguments[1], min(arguments[2], 128)))
    if name in ("sendto", "sendmmsg"):
        return _asking(name, pid, arguments)
    return []


def _opening(path: str, flags: int) -> Kind:
    if flags & _OPEN_CHANGES or flags & os.O_ACCMODE == os.O_WRONLY:
        return "write"
    # Databases open for both and go on with reading alone, so this is no attempt to change an existing file.
    return "read" if flags & os.O_ACCMODE == os.O_RDONLY or os.path.exists(path) else "write"  # noqa: PTH110


def _connecting(address: bytes) -> list[Attempt]:
    if len(address) < 3:
        return []
    family = unpack_from("=H", address)[0]
    if family == socket.AF_UNIX:
        path = address[2:].split(b"\0")[0] or b"@" + address[3:].split(b"\0")[0]
        return [Attempt("network", "unix:" + os.fsdecode(path))]
    if family == socket.AF_INET and len(address) >= 8:
        host = socket.inet_ntop(socket.AF_INET, address[4:8])
    elif family == socket.AF_INET6 and len(address) >= 24:
        host = socket.inet_ntop(socket.AF_INET6, address[8:24])
    else:
        return []
    return [Attempt("network", f"{host}:{unpack_from('!H', address, 2)[0]}")]


def _asking(name: str, pid: int, arguments: list[int]) -> list[Attempt]:
    """The host name in a question to a name server, if the message is one."""
    if name == "sendto":
        place, length = arguments[1], arguments[2]
    else:
        vectors = unpack_from("=Q", _memory(pid, arguments[1] + 16, 8))[0]
        place, length = unpack_from("=QQ", _memory(pid, vectors, 16))
    host = asked_name(_memory(pid, place, min(length, 512)))
    return [Attempt("network", host)] if host else []


def _path(pid: int, name: str, arguments: list[int], position: int) -> str:
    text = _text(pid, arguments[position])
    if not text.startswith("/"):
        folder = _HERE
        if name in _PLACED:
            folder = (arguments[position - 1] & 0xFFFFFFFF) - (1 << 32 if arguments[position - 1] & 0x80000000 else 0)
        base = os.readlink(f"/proc/{pid}/cwd" if folder == _HERE else f"/proc/{pid}/fd/{folder}")  # noqa: PTH115
        text = f"{base}/{text}"
    return os.path.normpath(text)


def _text(pid: int, place: int) -> str:
    """The text at an address, up to its end; a path has at most one page."""
    first = _memory(pid, place, _PAGE - place % _PAGE)
    if b"\0" not in first:
        first += _memory(pid, place + len(first), _PAGE)
    return os.fsdecode(first.split(b"\0")[0])


def _memory(pid: int, place: int, length: int) -> bytes:
    descriptor = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    try:
        return os.pread(descriptor, length, place)
    finally:
        os.close(descriptor)
