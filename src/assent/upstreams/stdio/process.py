"""Runs a server as a child process: reads its lines, and stops it with everything it started."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson

from assent.mcp.sse import Turns
from assent.upstreams.errors import ConnectionLost, Oversized, ProtocolViolation, Unreachable, UpstreamError
from assent.upstreams.stdio.stderr import StderrLog

logger = logging.getLogger(__name__)

LARGEST = 16 * 1024 * 1024
FAREWELL = 2.0
_LAST_WORDS = 0.5
_NOISE_SHOWN = 5
_EDGE = 1024
_DEEPEST = 200
_ID = rb'"id"\s*:\s*("[^"\\]*"|[0-9]+)'
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
_FIRST = re.compile(rb"\s*\{\s*(?:%b\s*,\s*)?%b" % (_VERSION, _ID))
_TORN = re.compile(
    rb'\s*\{\s*(?:%b\s*,\s*%b|%b\s*,\s*%b)\s*,\s*"(?:result|error)"\s*:' % (_VERSION, _ID, _ID, _VERSION)
)
_ANSWER = frozenset({"id", "jsonrpc", "result", "error"})
_LAST = re.compile(rb"%b\s*(?:,\s*%b\s*)?\}\s*\Z" % (_ID, _VERSION))

Hear = Callable[[dict[str, Any]], None]
Miss = Callable[[int | str, type[UpstreamError], str], None]


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """What is run: never through a shell, and with no more of our environment than it is given."""

    name: str
    command: Sequence[str]
    env: Mapping[str, str]
    cwd: str | None = None

    @property
    def shown(self) -> str:
        return " ".join(self.command)[:200]


class ServerProcess:
    """One process that speaks JSON-RPC on its standard streams. What else it prints is noise: logged, not fatal."""

    def __init__(self, launch: LaunchSpec, on_message: Hear, on_unreadable: Miss, stderr: StderrLog) -> None:
        self._launch, self._on_message, self._on_unreadable, self._stderr = launch, on_message, on_unreadable, stderr
        self._process: asyncio.subprocess.Process | None = None
        self._reading: list[asyncio.Task[None]] = []
        self._noise = 0
        self.ended = asyncio.Event()

    @property
    def code(self) -> int | None:
        """How it ended; None while it runs."""
        return self._process.returncode if self._process is not None else None

    async def start(self) -> None:
        launch = self._launch
        try:
            self._process = await asyncio.create_subprocess_exec(
                *launch.command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=dict(launch.env),
                cwd=launch.cwd,
                # A group of its own: Ctrl-C is ours to pass on, and what it starts ends with it.
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise Unreachable(launch.name, why_not(launch, error), sent=False) from None
        assert self._process.stderr is not None
        errors = self._stderr.read(self._process.stderr)
        self._reading = [asyncio.create_task(self._read()), asyncio.create_task(errors)]

    async def send(self, message: dict[str, Any]) -> None:
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(orjson.dumps(message) + b"\n")
            await self._process.stdin.drain()
        except (OSError, RuntimeError):
            raise ConnectionLost(self._launch.name, "the process no longer listens", sent=True) from None

    async def stop(self) -> None:
        """Close its input, wait, ask its whole group to end, wait, end it."""
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
                async with asyncio.timeout(FAREWELL):
                    await process.wait()
                    break
        self._signal(signal.SIGKILL)  # what it started and left behind
        await asyncio.wait(self._reading, timeout=_LAST_WORDS)
        for task in self._reading:
            task.cancel()
        await asyncio.gather(*self._reading, return_exceptions=True)
        # The pipe stays open where a grandchild holds it; nobody public gives us the transport.
        process._transport.close()  # type: ignore[attr-defined]

    def _signal(self, number: int) -> None:
        assert self._process is not None
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _read(self) -> None:
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
            return self._fail_request(id_of_truncated_response(line), ProtocolViolation, "the answer is not JSON")
        if not _is_message(message):
            self._log_noise(line)
            return self._fail_request(
                id_of_unversioned_response(message), ProtocolViolation, "the answer is not JSON-RPC"
            )
        if line.count(b"[") + line.count(b"{") > _DEEPEST and not _is_writable(message):
            self._log_noise(line)
            return self._fail_request(message.get("id"), Oversized, "the answer is nested too deep")
        self._on_message(message)

    def _skip_long_line(self, begin: bytes, end: bytes) -> None:
        """A line that was too long to keep: whoever waits for it is told, if its edges say who that is."""
        self._log_noise(b"a line of more than 16 MB, " + begin[:100])
        found = _FIRST.match(begin) or _LAST.search(end[-_EDGE:])
        self._fail_request(_id_in(found[1]) if found else None, Oversized, "the answer is longer than 16 MB")

    def _fail_request(self, request_id: int | str | None, fault: type[UpstreamError], reason: str) -> None:
        if request_id is not None:
            self._on_unreadable(request_id, fault, reason)

    def _log_noise(self, line: bytes) -> None:
        self._noise += 1
        if self._noise <= _NOISE_SHOWN:
            shown = line[:200].decode("utf-8", "replace")
            more = "; more of it is not shown" if self._noise == _NOISE_SHOWN else ""
            logger.warning("%s printed on its standard output: %r%s", self._launch.name, shown, more)


def id_of_truncated_response(line: bytes) -> int | str | None:
    """Whose answer a line begins that ends too soon. Whatever else cannot be read is noise."""
    found = _TORN.match(line)
    return _id_in(found[1] or found[2]) if found else None


def id_of_unversioned_response(message: Any) -> int | str | None:
    """Whose answer something is that has all of one but its version, or its version; a line of a log has neither."""
    if not isinstance(message, dict) or not _ANSWER.issuperset(message):
        return None
    error = message.get("error")
    answers = isinstance(message.get("result"), dict) or (isinstance(error, dict) and "code" in error)
    answers = answers or (message.get("jsonrpc") == "2.0" and len(message) > 2)
    return message.get("id") if answers and message.get("id").__class__ in (int, str) else None


def _id_in(text: bytes) -> int | str | None:
    """An id as it stands in a line; none where that is no JSON."""
    try:
        read = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return read if isinstance(read, int | str) else None


def _is_message(message: Any) -> bool:
    """Whether everybody who hears it can rely on the types of what makes it a message."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return False
    known = message.get("id").__class__ in (int, str, type(None))
    return known and isinstance(message.get("method", ""), str)


def _is_writable(message: dict[str, Any]) -> bool:
    try:
        orjson.dumps([[[[[[message]]]]]])  # as deep as anybody wraps it
    except TypeError:
        return False
    return True


def why_not(launch: LaunchSpec, error: Exception) -> str:
    """Why a command cannot be started, in words for whoever wrote it."""
    if isinstance(error, FileNotFoundError):
        missing = launch.cwd if launch.cwd is not None and not os.path.isdir(launch.cwd) else None  # noqa: PTH112
        if missing:
            return f"the folder {missing} does not exist"
        return f"there is no command {launch.command[0]!r}; install it, or give its whole path"
    if isinstance(error, PermissionError):
        return f"{launch.command[0]!r} may not be run: {error.strerror}"
    return f"{launch.command[0]!r} cannot be started: {error}"


def how_ended(code: int | None) -> str:
    """A process's end in words."""
    if code is None:
        return "it closed its output"
    if code < 0:
        with suppress(ValueError):
            return f"it was ended by {signal.Signals(-code).name}"
    return f"it exited with code {code}"
