"""The last step before a confined program: a small process that runs alone, without the rest of Assent.

It makes a network namespace without routes, opens in it the sockets that the gateway answers, installs the filter
that reports system calls to the gateway, hands all of these descriptors over, and becomes the program's own command.
If a step fails, it says which one and ends: the program is not started.
"""

import ctypes
import os
import sys
from _socket import AF_INET, SCM_RIGHTS, SO_REUSEADDR, SOCK_DGRAM, SOCK_STREAM, SOL_SOCKET, socket
from fcntl import ioctl
from struct import pack

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_SIOCSIFFLAGS, _SIOCSIFADDR, _IFF_UP = 0x8914, 0x8916, 0x1
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_MODE_FILTER, _NEW_LISTENER = 1, 8
FAILED = 125


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def main(arguments: list[str]) -> None:
    """`CONTROL FILTER PORTS ADDRESSES -- COMMAND`; ports `-` leave the network as it is."""
    control, filter_fd, ports, addresses, _, *command = arguments
    gateway = socket(fileno=int(control))
    libc = ctypes.CDLL(None, use_errno=True)
    step = "a private network"
    try:
        sockets = _private_network(libc, ports, addresses) if ports != "-" else []
        step = "no new privileges"
        _check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        step = "the system call filter"
        descriptors = [_listen_to_calls(libc, int(filter_fd)), *(one.fileno() for one in sockets)]
        gateway.sendmsg([b"ready"], [(SOL_SOCKET, SCM_RIGHTS, pack(f"{len(descriptors)}i", *descriptors))])
        for descriptor in descriptors:
            os.close(descriptor)
        step = "the program"
        os.set_inheritable(gateway.fileno(), False)
        os.execvp(command[0], command)
    except OSError as error:
        gateway.send(f"{step}: {error.strerror}".encode())
        os._exit(FAILED)


def _check(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _private_network(libc: ctypes.CDLL, ports: str, addresses: str) -> list[socket]:
    """Enter a network that has only a loopback device; returns its name server's socket and the listening ones."""
    user, group = os.geteuid(), os.getegid()
    _check(libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET))
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")
    names = socket(AF_INET, SOCK_DGRAM)
    ioctl(names.fileno(), _SIOCSIFFLAGS, pack("16sh14x", b"lo", _IFF_UP))
    for number, address in enumerate(filter(None, addresses.split(","))):
        octets = bytes(map(int, address.split(".")))
        ioctl(names.fileno(), _SIOCSIFADDR, pack("16sHH4s8x", f"lo:{number}".encode(), AF_INET, 0, octets))
    names.bind(("127.0.0.1", 53))
    return [names, *map(_listening, filter(None, ports.split(",")))]


def _listening(port: str) -> socket:
    one = socket(AF_INET, SOCK_STREAM)
    one.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
    one.bind(("0.0.0.0", int(port)))
    one.listen(128)
    return one


def _listen_to_calls(libc: ctypes.CDLL, filter_fd: int) -> int:
    code = os.read(filter_fd, 1 << 16)
    os.close(filter_fd)
    program = _Program(len(code) // 8, ctypes.cast(ctypes.create_string_buffer(code, len(code)), ctypes.c_void_p))
    number = _SECCOMP[os.uname().machine]
    return _check(libc.syscall(number, _SET_MODE_FILTER, _NEW_LISTENER, ctypes.byref(program)))


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    main(sys.argv[1:])
