"""The messages between a door and the engine: frames of one letter, a length and a body.

The first frame of a door is always `HELLO`, in this form, whatever the version. Imports the standard library alone.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

VERSION = "0.3.0"
"""The version of this package, as a door knows it without reading its metadata."""
PROTOCOL = 1
MAGIC = b"assent engine"
LARGEST = 8 * 1024 * 1024
"""The longest body. The arguments and the environment of a process are shorter on every system."""

# From a door.
HELLO = b"H"
"""Magic, protocol, version, the engine's identity, and what the door wants: `wrap` or `ask`."""
WRAP = b"W"
"""A server to wrap; the standard streams come with it as descriptors."""
ASK = b"Q"
"""A request of one kind: a JSON object with the member `kind`."""
SIGNAL = b"S"
"""The door was told to end."""

# From the engine.
ACCEPTED = b"A"
"""The streams are the engine's from now on. Before it, a door may turn elsewhere."""
CHILD = b"C"
"""The number of the server's process, which the door ends if the engine is killed."""
ENDED = b"X"
"""The exit code of the door."""
ANSWER = b"R"
"""The answer to a request: a JSON object."""
ELSEWHERE = b"F"
"""The engine does not wrap this server; the door does it alone, and says why unless the reason is empty."""
REFUSED = b"E"
"""The engine cannot serve this door; the body is the sentence for its person."""
REPLACED = b"V"
"""An idle engine ends for this newer door, which starts its own."""

_HEAD = struct.Struct("!cI")


class BadFrame(Exception):
    """The other side did not send a frame."""


def frame(kind: bytes, body: bytes = b"") -> bytes:
    return _HEAD.pack(kind, len(body)) + body


class Frames:
    """The frames in bytes as they arrive."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The frames that are complete now. Raises BadFrame for one that is too long, after those before it."""
        self._buffer += data
        while len(self._buffer) >= _HEAD.size:
            kind, size = _HEAD.unpack_from(self._buffer)
            if size > LARGEST:
                raise BadFrame(f"a frame of {size} bytes")
            if len(self._buffer) < _HEAD.size + size:
                break
            body = bytes(self._buffer[_HEAD.size : _HEAD.size + size])
            del self._buffer[: _HEAD.size + size]
            yield kind, body


Frame = tuple[bytes, bytes]


def read_frame(receive: Callable[[int], bytes], frames: Frames, ready: list[Frame]) -> Frame:
    """The next frame of a blocking connection; an empty kind at its end."""
    while not ready:
        data = receive(65536)
        if not data:
            return b"", b""
        ready += frames.feed(data)
    return ready.pop(0)


def join(fields: Sequence[bytes]) -> bytes:
    """Fields as one body. Arguments, paths and variables contain no zero byte."""
    return b"\0".join((b"%d" % len(fields), *fields))


def split(body: bytes) -> list[bytes]:
    """The fields of a body. Raises BadFrame if it is not one."""
    count, *fields = body.split(b"\0")
    if not count.isdigit() or int(count) != len(fields):
        raise BadFrame("a body with a wrong number of fields")
    return fields


def hello(identity: bytes, purpose: bytes) -> bytes:
    return frame(HELLO, join([MAGIC, b"%d" % PROTOCOL, VERSION.encode(), identity, purpose]))
