"""Runs a server as a child process, reads its lines, and stops it with everything it started."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import orjson

from assent.mcp.jsonrpc import is_too_deep
from assent.mcp.sse import Turns
from assent.upstreams.errors import ConnectionLost, Oversized, ProtocolViolation, Unreachable, UpstreamError
from assent.upstreams.stdio.privileges import unprivileged
from assent.upstreams.stdio.stderr import StderrLog

logger = logging.getLogger(__name__)

LARGEST = 16 * 1024 * 1024
STOP_TIMEOUT = 2.0
_DRAIN_TIMEOUT = 0.5
_NOISE_SHOWN = 5
_EDGE = 1024
_ID = rb'"id"\s*:\s*("[^"\\]*"|[0-9]+)'
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
_FIRST = re.compile(rb"\s*\{\s*(?:%b\s*,\s*)?%b" % (_VERSION, _ID))
_TORN = re.compile(
    rb'\s*\{\s*(?:%b\s*,\s*%b|%b\s*,\s*%b)\s*,\s*"(?:result|error)"\s*:' % (_VERSION, _ID, _ID, _VERSION)
)
_ANSWER = frozenset({"id", "jsonrpc", "result", "error"})
_LAST = re.compile(rb"%b\s*(?:,\s*%b\s*)?\}\s*\Z" % (_ID, _VERSION))

_INHERITED = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
_INHERITED_ON_WINDOWS = (
    "APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE", "SYSTEMDRIVE",
    "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE",
)  # fmt: skip

OnMessage = Callable[[dict[str, Any]], None]
OnUnreadable = Callable[[int | str, type[UpstreamError], str], None]
StartProcess = Callable[["LaunchSpec"], Awaitable[asyncio.subprocess.Process]]
"""Starts a process for a server: the port on which sandboxes hang."""


def inherited_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables that every server needs and that hold no secrets; the SDK's client passes on the same ones."""
    names = _INHERITED_ON_WINDOWS if os.name == "nt" else _INHERITED
    found = {name: environment[name] for name in names if name in environment}
    return {name: value for name, value in found.items() if not value.startswith("()")}  # an exported shell function


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """The command to run: never through a shell, and only with the environment it is given."""

    name: str
    command: Sequence[str]
    env: Mapping[str, str] = field(repr=False)
    cwd: str | None = None
    secret: str = field(default="", repr=False)
    """A person's key in the environment, which is left out of the log."""
    start: StartProcess | None = None
    """Starts the process in another way, such as in a box."""
    umask: int = -1
    """The mask for files that it makes; -1 is the gateway's own."""

    def without_secret(self, line: bytes) -> bytes:
        """A line of the process without the person's key."""
        return line.replace(self.secret.encode(), b"[key]") if self.secret else line

    @property
    def text(self) -> str:
        return " ".join(self.command)[:200]


class ServerProcess:
    """One process that speaks JSON-RPC over stdio. Anything else it prints is logged and ignored."""

    def __init__(
        self, launch: LaunchSpec, on_message: OnMessage, on_unreadable: OnUnreadable, stderr: StderrLog
    ) -> None:
        self._launch, self._on_message, self._on_unreadable, self._stderr = launch, on_message, on_unreadable, stderr
        self._process: asyncio.subprocess.Process | None = None
        self._reading: list[asyncio.Task[None]] = []
        self._noise = 0
        self.ended = asyncio.Event()

    @property
    def code(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.returncode if self._process is not None else None

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    async def start(self) -> None:
        launch = self._launch
        try:
            self._process = await (launch.start or start_process)(launch)
        except (OSError, ValueError) as error:
            raise Unreachable(launch.name, start_failure(launch, error), sent=False) from None
        assert self._process.stderr is not None
        errors = self._stderr.read(self._process.stderr)
        self._reading = [asyncio.create_task(self._read_lines()), asyncio.create_task(errors)]

    async def send(self, message: dict[str, Any]) -> None:
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(orjson.dumps(message) + b"\n")
            await self._process.stdin.drain()
        except (OSError, RuntimeError):
            raise ConnectionLost(self._launch.name, "the process no longer reads its input", sent=True) from None

    async def stop(self) -> None:
        """Close its input, wait, send SIGTERM to its group, wait, send SIGKILL."""
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            with suppress(OSError, RuntimeError):
                process.stdin.close()
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                self._signal(number)
            with suppress(TimeoutError):
                async with asyncio.timeout(STOP_TIMEOUT):
                    await process.wait()
                    break
        self._signal(signal.SIGKILL)  # End the children that it left behind.
        await asyncio.wait(self._reading, timeout=_DRAIN_TIMEOUT)
        for task in self._reading:
            task.cancel()
        await asyncio.gather(*self._reading, return_exceptions=True)
        # A grandchild may hold the pipe open, and asyncio has no public way to close the transport.
        process._transport.close()  # type: ignore[attr-defined]

    def _signal(self, number: int) -> None:
        assert self._process is not None
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _read_lines(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        held, cut, turns = bytearray(), b"", Turns()
        try:
            while piece := await self._process.stdout.read(65536):
                held += piece
                if b"\n" in piece:
                    *lines, rest = bytes(held).split(b"\n")
                    held = bytearray(rest)
                    if cut:
                        self._skip_long_line(cut, lines.pop(0))
                        cut = b""
                    for line in lines:
                        self._on_line(line)
                        await turns.over()
                elif len(held) > LARGEST:
                    cut = cut or bytes(held[:_EDGE])
                    del held[:-_EDGE]
            await self._process.wait()
        finally:
            self.ended.set()

    def _on_line(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = orjson.loads(line)
        except orjson.JSONDecodeError:
            self._log_noise(line)
            return self._fail_request(id_of_truncated_response(line), ProtocolViolation, "the response is not JSON")
        if not _is_message(message):
            self._log_noise(line)
            return self._fail_request(
                id_of_unversioned_response(message), ProtocolViolation, "the response is not JSON-RPC"
            )
        if is_too_deep(line, message):
            self._log_noise(line)
            return self._fail_request(message.get("id"), Oversized, "the response is nested too deeply")
        self._on_message(message)

    def _skip_long_line(self, begin: bytes, end: bytes) -> None:
        """Report a line that was too long to keep to the waiting request, if its start or end contains the id."""
        self._log_noise(b"a line of more than 16 MB, " + begin[:100])
        found = _FIRST.match(begin) or _LAST.search(end[-_EDGE:])
        self._fail_request(_id_in(found[1]) if found else None, Oversized, "the response is longer than 16 MB")

    def _fail_request(self, request_id: int | str | None, fault: type[UpstreamError], reason: str) -> None:
        if request_id is not None:
            self._on_unreadable(request_id, fault, reason)

    def _log_noise(self, line: bytes) -> None:
        self._noise += 1
        if self._noise <= _NOISE_SHOWN:
            text = self._launch.without_secret(line)[:200].decode("utf-8", "replace")
            more = "; further output is not logged" if self._noise == _NOISE_SHOWN else ""
            logger.warning("%s printed a line that is not JSON-RPC on stdout: %r%s", self._launch.name, text, more)


async def start_process(
    launch: LaunchSpec, command: Sequence[str] = (), descriptors: Sequence[int] = ()
) -> asyncio.subprocess.Process:
    """Start the command without privileges, or exactly these words with these descriptors."""
    mask: dict[str, Any] = {} if launch.umask == -1 else {"umask": launch.umask}  # uvloop does not know it.
    return await asyncio.create_subprocess_exec(
        *(command or unprivileged(launch.command, launch.env, launch.cwd)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(launch.env),
        cwd=launch.cwd,
        pass_fds=tuple(descriptors),
        # Its own process group, so that Ctrl-C does not reach it directly and its children end with it.
        start_new_session=True,
        **mask,
    )


def id_of_truncated_response(line: bytes) -> int | str | None:
    """The request id of a truncated response; None for any other unreadable line."""
    found = _TORN.match(line)
    return _id_in(found[1] or found[2]) if found else None


def id_of_unversioned_response(message: Any) -> int | str | None:
    """The request id of a response that lacks its version or its result; None for other JSON, such as a log line."""
    if not isinstance(message, dict) or not _ANSWER.issuperset(message):
        return None
    error = message.get("error")
    answers = isinstance(message.get("result"), dict) or (isinstance(error, dict) and "code" in error)
    answers = answers or (message.get("jsonrpc") == "2.0" and len(message) > 2)
    return message.get("id") if answers and message.get("id").__class__ in (int, str) else None


def _id_in(text: bytes) -> int | str | None:
    """An id in a line; None if it is not valid JSON."""
    try:
        read = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return read if isinstance(read, int | str) else None


def _is_message(message: Any) -> bool:
    """Whether the members that make it a JSON-RPC message have the right types."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return False
    known = message.get("id").__class__ in (int, str, type(None))
    return known and isinstance(message.get("method", ""), str)


def start_failure(launch: LaunchSpec, error: Exception) -> str:
    """Why a command cannot be started, for the person who configured it."""
    if isinstance(error, FileNotFoundError):
        missing = launch.cwd if launch.cwd is not None and not os.path.isdir(launch.cwd) else None  # noqa: PTH112
        if missing:
            return f"the folder {missing} does not exist"
        return f"the command {launch.command[0]!r} was not found; install it, or give its full path"
    if isinstance(error, PermissionError):
        return f"{launch.command[0]!r} cannot be run: {error.strerror}"
    return f"{launch.command[0]!r} cannot be started: {error}"


def how_ended(code: int | None) -> str:
    """How a process ended, as text."""
    if code is None:
        return "it closed its output"
    if code < 0:
        with suppress(ValueError):
            return f"it was ended by {signal.Signals(-code).name}"
    return f"it exited with code {code}"
