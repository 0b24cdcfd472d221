"""Where the engine of a user is, and how the first door starts it. Imports hardly more than the standard library.

A lock file says whether an engine lives: whoever starts one holds its lock, hands the lock over with the listening
socket, and the kernel frees it when the engine ends, however it ends.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import stat
import struct
import sys
import time
from binascii import crc32

from assent.config.folders import config_folder, state_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

STARTS_WITHIN = 10.0
_BACKLOG = 256
_MOST_STARTS = 2
_LARGEST_LOG = 1 << 20
_KEPT = frozenset({
    "DBUS_SESSION_BUS_ADDRESS", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "PYTHONDONTWRITEBYTECODE",
    "PYTHONPYCACHEPREFIX", "SHELL", "SSL_CERT_DIR", "SSL_CERT_FILE", "TMPDIR", "TZ", "USER", "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY",
    "NO_PROXY",
})  # fmt: skip
_KEPT_PREFIXES = ("PG", "OTEL_")
_NAMESPACES = ("mnt", "net", "pid", "user")
_START = "import sys; sys.path.append(sys.argv[1]); from assent.gateway.engine.process import main; main()"
_LISTENER, _LOCK = 3, 4


class Unavailable(Exception):
    """There is no engine and none can be started here. What a door does alone is as safe as with one."""


class Unsafe(Exception):
    """Something is wrong with the engine's files, so that nothing may be started."""


class Place:
    """The engine of one user and configuration, and its open folder, which only this user can read and write."""

    __slots__ = ("descriptor", "folder", "identity", "name", "starts")

    def __init__(self, identity: bytes, folder: str, descriptor: int) -> None:
        self.identity, self.folder, self.descriptor = identity, folder, descriptor
        self.name = f"engine-{crc32(identity):08x}"
        self.starts = 0

    @property
    def log(self) -> str:
        return f"{self.folder}/{self.name}.log"


def user_file(environment: Mapping[str, str]) -> str:
    """The user's own configuration, which may not exist."""
    return f"{config_folder(environment)}/assent.yaml"


def find_place(config: str | None, environment: Mapping[str, str]) -> Place:
    """Where the engine of this configuration is or would be; makes its folder."""
    state = state_folder(environment)
    # A process in another container sees other files, and a confined one may do less: each has another engine.
    rights = f"{crc32(chr(10).join(sorted(rights_of('self'))).encode()):08x}"
    identity = os.fsencode("\n".join([config or user_file(environment), state, rights]))
    folder = _runtime_folder(environment) or f"{state}/engine"
    return Place(identity, folder, _open_private(folder))


def has_folder(environment: Mapping[str, str]) -> bool:
    """Whether there is a folder for engines; without one, none runs."""
    return os.path.isdir(_runtime_folder(environment) or f"{state_folder(environment)}/engine")


def rights_of(process: object) -> frozenset[str]:
    """What a process may do and sees, as far as the kernel tells; empty if it cannot be read."""
    try:
        with open(f"/proc/{process}/status", encoding="ascii", errors="replace") as status:
            found = dict(line.split(":\t", 1) for line in status.read().splitlines() if ":\t" in line)
        rights = {os.readlink(f"/proc/{process}/ns/{kind}") for kind in _NAMESPACES}
        rights |= {f"group {one}" for one in (*found["Groups"].split(), found["Gid"].split()[1])}
        for name in ("CapEff", "CapBnd"):
            held = int(found[name], 16)
            rights |= {f"{name} {bit}" for bit in range(held.bit_length()) if held >> bit & 1}
        for name, most in (("NoNewPrivs", 1), ("Seccomp", 2), ("Seccomp_filters", 32)):
            rights |= {f"{name} {number}" for number in range(int(found.get(name, 0)), most + 1)}
    except (OSError, KeyError, ValueError):
        return frozenset()
    return frozenset(rights)


def _runtime_folder(environment: Mapping[str, str]) -> str | None:
    """The folder for sockets that the system made for this user, if there is one."""
    named = environment.get("XDG_RUNTIME_DIR") or f"/run/user/{os.geteuid()}"
    try:
        found = os.lstat(named)
    except OSError:
        return None
    private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
    return f"{named}/assent" if private and named.startswith("/") else None


def _open_private(folder: str) -> int:
    """Open the engine's folder, made if it does not exist. Raises Unsafe if others can use it."""
    try:
        for path in (os.path.dirname(folder), folder):
            os.makedirs(path, 0o700, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        if os.path.islink(folder):
            raise Unsafe(f"{folder} is a link. Remove it") from None
        raise Unavailable(f"{folder} cannot be used: {error.strerror}") from None
    found = os.fstat(descriptor)
    if found.st_uid != os.geteuid():
        os.close(descriptor)
        raise Unavailable(f"{folder} belongs to another user")
    if found.st_mode & 0o077:
        os.close(descriptor)
        raise Unsafe(f"others can use {folder}. Look at what is in it, then run: chmod 700 {folder}")
    return descriptor


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """The user and the process at the other end of a Unix socket; the process is 0 where it is not known."""
    if sys.platform == "darwin":
        # struct xucred: version, user, number of groups, groups.
        _, user = struct.unpack("2I", connection.getsockopt(0, 1, 76)[:8])
        return user, struct.unpack("i", connection.getsockopt(0, 2, 4))[0]
    process, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return user, process


def connect(place: Place) -> socket.socket | None:
    """A connection to the running engine; None if none runs."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _at(place, connection.connect)
        user = peer_of(connection)[0]
    except (FileNotFoundError, ConnectionError):
        connection.close()
        return None
    except OSError as error:
        connection.close()
        raise Unavailable(f"{place.folder}/{place.name}.sock cannot be used: {error.strerror}") from None
    if user != os.geteuid():
        connection.close()
        raise Unsafe(f"another user answers at {place.folder}/{place.name}.sock. Remove it")
    return connection


def connect_or_start(place: Place) -> socket.socket:
    """A connection to the engine, which is started if none runs. Twenty doors at once start one engine."""
    until = time.monotonic() + STARTS_WITHIN
    while True:
        if (connection := connect(place)) is not None:
            return connection
        if (lock := _try_lock(place)) is not None:
            try:
                if (connection := connect(place)) is not None:
                    return connection
                if place.starts == _MOST_STARTS:
                    raise Unavailable(f"the engine ends as soon as it is started (its log is {place.log})")
                place.starts += 1
                _start(place, lock)
            finally:
                os.close(lock)
        elif time.monotonic() > until:
            raise Unavailable(f"the engine neither answers nor ends (its log is {place.log})")
        else:
            time.sleep(0.01)  # Another door starts the engine at this moment, or an engine is ending.


def _at(place: Place, use: object) -> None:
    """Connect or bind. The path of a socket may have 104 characters, so it is taken from the open folder."""
    assert callable(use)
    short = f"/proc/self/fd/{place.descriptor}"
    if os.path.isdir(short):
        return use(f"{short}/{place.name}.sock")  # type: ignore[no-any-return]
    before = os.open(".", os.O_RDONLY)
    try:
        os.fchdir(place.descriptor)
        use(f"{place.name}.sock")
    finally:
        os.fchdir(before)
        os.close(before)


def _try_lock(place: Place) -> int | None:
    """The lock of the engine; None while an engine lives or is being started."""
    name = f"{place.name}.lock"
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        lock = os.open(name, flags, 0o600, dir_fd=place.descriptor)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR):
            raise Unsafe(f"{place.folder}/{name} is a link or a folder. Remove it") from None
        raise Unavailable(f"{place.folder}/{name} cannot be used: {error.strerror}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        kept = os.stat(name, dir_fd=place.descriptor, follow_symlinks=False)
        opened = os.fstat(lock)
        if (kept.st_ino, kept.st_dev) == (opened.st_ino, opened.st_dev) and opened.st_uid == os.geteuid():
            return lock
    except OSError:  # Another has it, or it was removed meanwhile.
        pass
    os.close(lock)
    return None


def _start(place: Place, lock: int) -> None:
    """Start the engine, which listens from now on: doors connect at once and wait until it has loaded."""
    name = f"{place.name}.sock"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        if _exists(place, name):
            os.unlink(name, dir_fd=place.descriptor)
        _at(place, listener.bind)
        listener.listen(_BACKLOG)
        _spawn(place, listener.fileno(), lock)
    except IsADirectoryError:
        raise Unsafe(f"{place.folder}/{name} is a folder. Remove it") from None
    except OSError as error:
        raise Unavailable(f"the engine cannot be started in {place.folder}: {error.strerror}") from None
    finally:
        os.umask(mask)
        listener.close()


def _exists(place: Place, name: str) -> bool:
    try:
        os.stat(name, dir_fd=place.descriptor, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _spawn(place: Place, listener: int, lock: int) -> None:
    """Run the engine in a session of its own. It is nobody's child, and has little of this door's environment."""
    middle = os.fork()
    if middle == 0:
        try:
            os.setsid()
            if os.fork() == 0:
                _become_engine(place, listener, lock)
        finally:
            os._exit(0)
    os.waitpid(middle, 0)


def _become_engine(place: Place, listener: int, lock: int) -> NoReturn:
    folder = fcntl.fcntl(place.descriptor, fcntl.F_DUPFD, 10)
    listener, lock = (fcntl.fcntl(one, fcntl.F_DUPFD, 10) for one in (listener, lock))
    nothing, log = os.open(os.devnull, os.O_RDWR), _open_log(place, folder)
    for source, target in ((nothing, 0), (log, 1), (log, 2), (listener, _LISTENER), (lock, _LOCK)):
        os.dup2(source, target)  # Also clears close-on-exec.
    os.closerange(_LOCK + 1, 1 << 16)
    os.chdir("/")
    os.umask(0o077)
    environment = {
        name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(_KEPT_PREFIXES)
    }
    package = os.path.abspath(f"{__file__}/../../../..")
    words = [sys.executable, "-P", "-c", _START, package, place.folder, place.name, os.fsdecode(place.identity)]
    os.execve(sys.executable, words, environment)


def _open_log(place: Place, folder: int) -> int:
    name, flags = f"{place.name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    try:
        log = os.open(name, flags, 0o600, dir_fd=folder)
        if os.fstat(log).st_size > _LARGEST_LOG:
            os.truncate(log, 0)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)
    return log
