"""Starts a process in a box, or under observation."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from assent.upstreams.errors import Unreachable
from assent.upstreams.sandbox.bubblewrap import box_command
from assent.upstreams.sandbox.grants import Box, CannotConfine, Grants
from assent.upstreams.sandbox.network import PrivateNetwork
from assent.upstreams.sandbox.programs import find_program
from assent.upstreams.sandbox.seccomp import forbidding_filter, reporting_filter
from assent.upstreams.sandbox.supervisor import OnAttempt, Supervisor
from assent.upstreams.stdio.privileges import unprivileged
from assent.upstreams.stdio.process import LaunchSpec, StartProcess, start_process

logger = logging.getLogger(__name__)

SHIM = str(Path(__file__).with_name("shim.py"))
READY_WITHIN = 20.0
_MOST_DESCRIPTORS = 250

Process = asyncio.subprocess.Process
Start = StartProcess


def confined(grants: Grants, box: Box, on_attempt: OnAttempt) -> Start:
    """Starts a process in this box; it does not start if a protection is missing."""

    async def start(launch: LaunchSpec) -> Process:
        try:
            return await _start_confined(launch, grants, box, on_attempt)
        except CannotConfine as missing:
            raise Unreachable(
                launch.name, f"it cannot be confined: {missing}", sent=False, advice=missing.remedy
            ) from None

    return start


def observed(on_attempt: OnAttempt) -> Start:
    """Starts a process as it is, and reports what it does."""

    async def start(launch: LaunchSpec) -> Process:
        command = unprivileged(launch.command, launch.env, launch.cwd)
        try:
            if not sys.platform.startswith("linux"):
                raise CannotConfine("this is not Linux")
            process, descriptors = await _through_shim(launch, command, reporting_filter(reads=True), "-", "", ())
        except CannotConfine as missing:
            _tell_once(launch.name, missing)
            return await start_process(launch)
        Supervisor(descriptors[0], on_attempt)
        return process

    return start


_told: set[str] = set()


def _tell_once(name: str, missing: CannotConfine) -> None:
    if name not in _told:
        _told.add(name)
        logger.warning("%s runs unobserved: %s; %s", name, missing, missing.remedy or CHECK)


async def _start_confined(launch: LaunchSpec, grants: Grants, box: Box, on_attempt: OnAttempt) -> Process:
    cwd = launch.cwd or os.getcwd()  # noqa: PTH109
    program = find_program(launch.command, launch.env, cwd)
    grants = Grants(grants.read, grants.write, grants.hosts, grants.env, {**program.reads, **grants.program})
    rules = grants.hosts if box.network else ()
    ports = ",".join(sorted({str(port) for rule in rules for port in rule.ports}))
    addresses = ",".join(sorted({rule.name for rule in rules if rule.is_address and not rule.name.startswith("127.")}))
    unix = box.writes and any(Path(path).is_socket() for path in grants.write)
    forbidding = descriptor_of(forbidding_filter(unix_sockets=unix))
    try:
        command = [*box_command(grants, box, cwd, launch.env.get("HOME", ""), forbidding), *program.command]
        watching = reporting_filter(reads=False)
        process, descriptors = await _through_shim(launch, command, watching, ports, addresses, (forbidding,))
    finally:
        os.close(forbidding)
    Supervisor(descriptors[0], on_attempt)
    network = PrivateNetwork(rules, on_attempt)
    names, *listeners = (socket.socket(fileno=one) for one in descriptors[1:])
    for one in (names, *listeners):
        one.setblocking(False)
    await network.start(names, listeners)
    _when_ended(process, network.close)
    return process


async def _through_shim(
    launch: LaunchSpec, command: list[str], watching: bytes, ports: str, addresses: str, kept: tuple[int, ...]
) -> tuple[Process, list[int]]:
    """Start a command through the shim; returns the process and the descriptors that the shim opened for us."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    watch = descriptor_of(watching)
    words = [sys.executable, "-I", "-S", SHIM, str(theirs.fileno()), str(watch), ports, addresses, "--", *command]
    try:
        process = await start_process(launch, words, (theirs.fileno(), watch, *kept))
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
        os.close(watch)
    with ours:
        said, descriptors = await _received(ours)
    if said != b"ready":
        await process.wait()
        raise CannotConfine(f"this machine does not give {said.decode('utf-8', 'replace') or 'it'}", CHECK)
    return process, descriptors


CHECK = "`assent sandbox check` says what is missing"


async def _received(ours: socket.socket) -> tuple[bytes, list[int]]:
    loop, arrived = asyncio.get_running_loop(), asyncio.Event()
    ours.setblocking(False)
    loop.add_reader(ours.fileno(), arrived.set)
    try:
        async with asyncio.timeout(READY_WITHIN):
            await arrived.wait()
        said, descriptors, _, _ = socket.recv_fds(ours, 1000, _MOST_DESCRIPTORS)
        return said, descriptors
    except (TimeoutError, OSError):
        return b"", []
    finally:
        loop.remove_reader(ours.fileno())


def descriptor_of(program: bytes) -> int:
    """A descriptor from which another process reads these bytes."""
    descriptor = os.memfd_create("assent-filter")
    os.write(descriptor, program)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


_waiting: set[asyncio.Task[None]] = set()


def _when_ended(process: Process, close: Callable[[], None]) -> None:
    async def wait() -> None:
        try:
            await process.wait()
        finally:
            close()

    task = asyncio.create_task(wait())
    _waiting.add(task)
    task.add_done_callback(_waiting.discard)
