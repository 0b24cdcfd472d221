"""The system call filters of a box, as programs for the kernel that libseccomp writes."""

from __future__ import annotations

import ctypes
import ctypes.util
import errno
import os
from functools import cache

from assent.upstreams.sandbox.grants import CannotConfine

_ALLOW, _NOTIFY, _ERRNO = 0x7FFF0000, 0x7FC00000, 0x00050000
_GREATER, _EQUAL, _MASKED = 6, 4, 7
_CLONE_NEWUSER = 0x10000000
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16

CHANGES = {
    "creat": 0, "mkdir": 0, "mkdirat": 1, "mknod": 0, "mknodat": 1, "rmdir": 0, "unlink": 0, "unlinkat": 1,
    "rename": 1, "renameat": 3, "renameat2": 3, "link": 1, "linkat": 3, "symlink": 1, "symlinkat": 2, "truncate": 0,
    "chmod": 0, "fchmodat": 1, "chown": 0, "lchown": 0, "fchownat": 1, "utimensat": 1, "setxattr": 0,
}  # fmt: skip
"""Calls that change a path, and which argument names it."""
OPENS = {"open": 0, "openat": 1, "openat2": 1}
RUNS = {"execve": 0, "execveat": 1}
_ASKS = ("sendto", "sendmmsg")
_FORBIDDEN = (
    "add_key", "bpf", "delete_module", "finit_module", "fsconfig", "fsmount", "fsopen", "fspick", "init_module",
    "io_uring_enter", "io_uring_register", "io_uring_setup", "kexec_file_load", "kexec_load", "keyctl", "mount",
    "mount_setattr", "move_mount", "open_by_handle_at", "open_tree", "perf_event_open", "pivot_root", "quotactl",
    "reboot", "request_key", "setns", "swapoff", "swapon", "umount2", "unshare", "userfaultfd",
)  # fmt: skip


class _Compare(ctypes.Structure):
    _fields_ = (("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64))


class _Filter:
    """One filter in the making; calls without a rule are allowed."""

    def __init__(self) -> None:
        self._lib = library()
        self._context = ctypes.c_void_p(self._lib.seccomp_init(_ALLOW))

    def add(self, action: int, name: str, *compared: tuple[int, int, int, int]) -> None:
        number = call_number(name)
        if number < 0:  # This processor has no such call.
            return
        rules = (_Compare * len(compared))(*(_Compare(*one) for one in compared))
        if (code := self._lib.seccomp_rule_add_array(self._context, action, number, len(compared), rules)) < 0:
            raise CannotConfine(f"libseccomp does not accept a rule for {name}: {os.strerror(-code)}")

    def program(self) -> bytes:
        descriptor = os.memfd_create("filter")
        try:
            if (code := self._lib.seccomp_export_bpf(self._context, descriptor)) < 0:
                raise CannotConfine(f"libseccomp cannot write the filter: {os.strerror(-code)}")
            return os.pread(descriptor, 1 << 16, 0)
        finally:
            os.close(descriptor)
            self._lib.seccomp_release(self._context)


@cache
def library() -> ctypes.CDLL:
    """libseccomp. Raises CannotConfine where it is not installed."""
    try:
        lib = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        raise CannotConfine("libseccomp is not installed", "apt install libseccomp2") from None
    lib.seccomp_init.restype = ctypes.c_void_p
    lib.seccomp_syscall_resolve_num_arch.restype = ctypes.c_char_p
    return lib


@cache
def call_number(name: str) -> int:
    """The number of a system call on this processor; negative if it has none."""
    return int(library().seccomp_syscall_resolve_name(name.encode()))


@cache
def reporting_filter(*, reads: bool) -> bytes:
    """Reports calls that change files or use the network; with `reads` also those that read files and run programs."""
    made = _Filter()
    for name in (*CHANGES, *RUNS, "connect", "openat2", *(_ASKS if reads else ())):
        made.add(_NOTIFY, name)
    for name in ("open", "openat"):
        flags = OPENS[name] + 1
        if reads:
            made.add(_NOTIFY, name)
            continue
        for mask, value in (
            (os.O_ACCMODE, os.O_WRONLY),
            (os.O_ACCMODE, os.O_RDWR),
            (os.O_CREAT, os.O_CREAT),
            (os.O_TRUNC, os.O_TRUNC),
        ):
            made.add(_NOTIFY, name, (flags, _MASKED, mask, value))
    return made.program()


@cache
def forbidding_filter(*, unix_sockets: bool) -> bytes:
    """Refuses calls that no tool server needs and that could reach around the box."""
    made = _Filter()
    for name in _FORBIDDEN:
        made.add(_ERRNO | errno.EPERM, name)
    made.add(_ERRNO | errno.EPERM, "clone", (0, _MASKED, _CLONE_NEWUSER, _CLONE_NEWUSER))
    made.add(_ERRNO | errno.ENOSYS, "clone3")  # Its flags are behind a pointer; libraries use `clone` then.
    # Namespaces do not separate every kind of socket, such as those between a virtual machine and its host.
    for family in range(_NETLINK):
        if family not in (_INET, _INET6, *([_UNIX] if unix_sockets else [])):
            made.add(_ERRNO | errno.EACCES, "socket", (0, _EQUAL, family, 0))
    made.add(_ERRNO | errno.EACCES, "socket", (0, _GREATER, _NETLINK, 0))
    return made.program()
