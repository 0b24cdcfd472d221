"""The door of a wrapped server: hands its standard streams to the engine and waits for the exit code.

Imports the standard library alone. The engine reads and writes the client's own pipes, so no byte passes through here.
"""

from __future__ import annotations

import os
import signal
import socket
import time

from assent.config.folders import NoHome
from assent.gateway.engine import wire
from assent.gateway.engine.find_or_start import Place, Unavailable, Unsafe, connect_or_start, find_place, user_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TRIES, _PAUSE = 100, 0.1
_ANSWERS_WITHIN = 30.0
_STOPS_WITHIN = 20
_ENDS_WITHIN = 2.0
_REPEATED = {"--read": "read", "--write": "write", "--host": "host"}
_GONE = (
    "the engine has ended unexpectedly, so this server is closed. Calls that were running may be in doubt: see"
    " `assent claims list`. Start the server again in the client"
)


class Wrap:
    """A server to wrap, as the command line names it."""

    __slots__ = ("command", "config", "host", "read", "sandbox", "start_within", "write")

    def __init__(
        self,
        command: tuple[str, ...],
        config: str | None = None,
        start_within: str = "60s",
        sandbox: str = "",
        read: tuple[str, ...] = (),
        write: tuple[str, ...] = (),
        host: tuple[str, ...] = (),
    ) -> None:
        self.command, self.config, self.start_within, self.sandbox = command, config, start_within, sandbox
        self.read, self.write, self.host = read, write, host


def parse(words: Sequence[str]) -> Wrap | None:
    """The server that the words after `assent wrap` name; None for everything that the whole command line must read."""
    single = {"-c": "", "--config": "", "--start-within": "60s", "--sandbox": ""}
    repeated: dict[str, list[str]] = {"read": [], "write": [], "host": []}
    left = list(words)
    while left and left[0].startswith("-"):
        word = left.pop(0)
        if word == "--":
            break
        name, given, value = word.partition("=")
        if (name not in single and name not in _REPEATED) or (given and name == "-c") or not (given or left):
            return None
        value = value if given else left.pop(0)
        if name in single:
            single[name] = value
        else:
            repeated[_REPEATED[name]].append(os.path.abspath(os.path.expanduser(value)) if name != "--host" else value)
    within, sandbox = single["--start-within"], single["--sandbox"]
    plain = within[:-1].isdecimal() and within[-1:] in "smhd" and len(within) < 6
    if not left or not plain or sandbox not in ("", "off", "observe", "enforce"):
        return None
    if any(repeated.values()) and sandbox in ("", "off"):
        return None
    config = single["--config"] or single["-c"] or None
    return Wrap(tuple(left), config, within, sandbox, *(tuple(repeated[one]) for one in ("read", "write", "host")))


class _State:
    """Whether this process has learned that it must wrap its server itself."""

    is_alone = False


def run(wrap: Wrap, environment: Mapping[str, str] = os.environ) -> int | None:
    """The exit code of a server wrapped by the engine; None if this process must wrap it itself."""
    if _State.is_alone:
        return None
    code = _run(wrap, environment)
    _State.is_alone = code is None
    return code


def _run(wrap: Wrap, environment: Mapping[str, str]) -> int | None:
    _open_closed_streams()
    try:
        folder = os.getcwd()
        config = None if wrap.config is None else os.path.abspath(wrap.config)
        if is_switched_off(config or user_file(environment)):
            return None
        place = find_place(config, environment)
        try:
            return _wrap(place, _body(wrap, config, folder, environment))
        finally:
            os.close(place.descriptor)
    except NoHome as error:
        _say(str(error))
        return 2
    except Unsafe as error:
        _say(f"{error}. Until then no server is started")
        return 2
    except (Unavailable, FileNotFoundError) as error:
        reason = error if isinstance(error, Unavailable) else "the current folder was removed"
        _say(f"{reason}; this server runs without the shared engine")
        return None


def is_switched_off(file: str) -> bool:
    """Whether the configuration says `engine: off` in a line of its own. The engine reads every other form."""
    try:
        with open(file, "rb") as opened:
            lines = opened.read().split(b"\n")
    except OSError:
        return False
    return any(line.startswith(b"engine:") and _plain(line[7:]) == b"off" for line in lines)


def _plain(value: bytes) -> bytes:
    """A value of YAML without its comment and quotes."""
    return value.partition(b"#")[0].strip().strip(b"\"'")


def _body(wrap: Wrap, config: str | None, folder: str, environment: Mapping[str, str]) -> bytes:
    mask = os.umask(0)
    os.umask(mask)
    lists = [wrap.command, wrap.read, wrap.write, wrap.host, [f"{name}={value}" for name, value in environment.items()]]
    fields = [folder, str(mask), config or "", wrap.start_within, wrap.sandbox]
    for one in lists:
        fields += [str(len(one)), *one]
    return wire.frame(wire.WRAP, wire.join([os.fsencode(one) for one in fields]))


def _wrap(place: Place, body: bytes) -> int | None:
    for _ in range(_TRIES):
        connection = connect_or_start(place)
        try:
            return _talk(place, connection, wire.hello(place.identity, b"wrap") + body)
        except ConnectionError:
            time.sleep(_PAUSE)  # It ended before it took the streams: nothing has begun.
        finally:
            connection.close()
    raise Unavailable(f"the engine takes no doors (its log is {place.log})")


def _talk(place: Place, connection: socket.socket, message: bytes) -> int | None:
    """Hand over the streams and wait. Raises ConnectionError if the engine ends before it accepts them."""
    connection.settimeout(_ANSWERS_WITHIN)
    sent = socket.send_fds(connection, [message[:4096]], [0, 1, 2])
    if message[sent:]:
        connection.sendall(message[sent:])
    frames, ready, child = wire.Frames(), list[tuple[bytes, bytes]](), 0
    try:
        kind, said = wire.read_frame(connection.recv, frames, ready)
    except TimeoutError:
        _say(f"the engine does not answer. End it with `assent engine stop`; its log is {place.log}")
        return 1
    if kind == wire.ELSEWHERE:
        if said:
            _say(said.decode())
        return None
    if kind == wire.REFUSED:
        _say(said.decode())
        return 1
    if kind != wire.ACCEPTED:
        raise ConnectionError("the engine ended before it took the streams")
    connection.settimeout(None)
    _pass_on_signals(connection)
    try:
        while True:
            kind, said = wire.read_frame(connection.recv, frames, ready)
            if kind == wire.CHILD:
                child = int(said)
            elif kind == wire.ENDED:
                return int(said)
            elif not kind:
                break
    except ConnectionError:
        pass
    _say(_GONE)
    _end_process(child)
    return 1


def _pass_on_signals(connection: socket.socket) -> None:
    """Tell the engine of a signal. If it does not end the server in time, this process ends all the same."""

    def pass_on(number: int, _: object) -> None:
        signal.alarm(_STOPS_WITHIN)
        try:
            connection.send(wire.frame(wire.SIGNAL, b"%d" % number))
        except OSError:
            os._exit(1)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)


def _end_process(child: int) -> None:
    """End a server that the engine left behind. It sees its input end, and gets a moment for that."""
    for number, seconds in ((0, _ENDS_WITHIN), (signal.SIGTERM, _ENDS_WITHIN), (signal.SIGKILL, 0.0)):
        until = time.monotonic() + seconds
        try:
            if child <= 1 or os.getpgid(child) != child:
                return
            os.killpg(child, number)
            while time.monotonic() < until:
                os.killpg(child, 0)
                time.sleep(0.05)
        except (ProcessLookupError, PermissionError):
            return


def _open_closed_streams() -> None:
    """A client may start a server without one of the standard streams."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _say(sentence: str) -> None:
    line = f"assent wrap: {sentence}\n".encode(errors="replace")
    try:
        os.write(2, line)
    except OSError:
        return  # The client does not read what its servers say.
