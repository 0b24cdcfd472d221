"""The standard streams of a client, which are read and written without waiting for one client alone."""

from __future__ import annotations

import asyncio
import os
import queue
import select
import socket
import stat
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

LARGEST = 16 * 1024 * 1024
MOST_UNREAD = 64 * 1024 * 1024
MOST_HELD_LINES = 64
_MOST_ERRORS = 256 * 1024
_LARGEST_WRITE = 1 << 20


class Outlet:
    """Writes to a descriptor whose reader may be slow or gone.

    The descriptor is shared with the client, so its flags stay as they are: a pipe is opened a second time, a socket
    is told with each write not to wait, and for everything else a thread waits.
    """

    def __init__(self, descriptor: int, most: int, on_gone: Callable[[], None]) -> None:
        self._loop, self._most, self._on_gone = asyncio.get_running_loop(), most, on_gone
        self._unwritten: deque[memoryview] = deque()
        self._size, self._waits, self._closed = 0, False, False
        self._is_done = asyncio.Event()
        self._thread: queue.SimpleQueue[bytes | None] | None = None
        self._descriptor, self._write = self._open_output(descriptor)

    def _open_output(self, descriptor: int) -> tuple[int, Callable[[memoryview], int]]:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISSOCK(mode):
            shared = socket.socket(fileno=descriptor)
            self._socket = shared
            return descriptor, lambda data: shared.send(data, socket.MSG_DONTWAIT)
        if stat.S_ISFIFO(mode) and (own := _reopen(descriptor, os.O_WRONLY)) is not None:
            return own, lambda data: os.write(own, data)
        self._thread = queue.SimpleQueue()
        threading.Thread(target=self._run, args=(descriptor, self._thread), daemon=True).start()
        return descriptor, lambda data: os.write(descriptor, data)

    def write(self, data: bytes) -> bool:
        """Write as much as fits now and keep the rest; False if too much is kept already."""
        if self._closed or self._size > self._most:
            return False
        self._size += len(data)
        if self._thread is not None:
            self._thread.put(data)
            return True
        self._unwritten.append(memoryview(data))
        if not self._waits:
            self._flush()
        return True

    def _flush(self) -> None:
        try:
            while self._unwritten:
                written = self._write(self._unwritten[0][:_LARGEST_WRITE])
                self._size -= written
                rest = self._unwritten.popleft()[written:]
                if rest:
                    self._unwritten.appendleft(rest)
        except (BlockingIOError, InterruptedError):
            if not self._waits:
                self._waits = True
                self._loop.add_writer(self._descriptor, self._flush)
            return
        except OSError:
            self._unwritten.clear()
            self._on_gone()
        if self._waits:
            self._waits = False
            self._loop.remove_writer(self._descriptor)
        self._is_done.set()

    async def close(self, within: float) -> None:
        """Write what is kept, unless the reader has stopped reading."""
        self._closed = True
        self._is_done.clear()
        if self._thread is not None:
            self._thread.put(None)
        elif not self._unwritten:
            self._is_done.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._is_done.wait()
        if self._waits:
            self._loop.remove_writer(self._descriptor)
        if self._thread is None:
            (self._socket.detach() if hasattr(self, "_socket") else None)
            os.close(self._descriptor)

    def _run(self, descriptor: int, messages: queue.SimpleQueue[bytes | None]) -> None:
        try:
            while (message := messages.get()) is not None:
                rest = memoryview(message)
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
                self._size -= len(message)
        except OSError:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._on_gone)
        os.close(descriptor)
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._is_done.set)


def _reopen(descriptor: int, way: int) -> int | None:
    """The same pipe or device for this process alone, which never waits; None where it cannot be opened again.

    A named pipe whose writer has left is not opened again: the end would never be reported. Its reads do not wait.
    """
    try:
        own = os.open(f"/proc/self/fd/{descriptor}", way | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        return None
    poll = select.poll()
    poll.register(descriptor, 0)
    if any(event & select.POLLHUP for _, event in poll.poll(0)):
        os.close(own)
        return None
    os.close(descriptor)
    return own


class StandardStreams:
    """Lines in, lines out and lines of errors on the descriptors of a client, which are closed in the end."""

    def __init__(self, descriptors: tuple[int, int, int]) -> None:
        self._loop = asyncio.get_running_loop()
        self.gone = asyncio.Event()
        """Set when the client no longer reads."""
        self._input = descriptors[0]
        mode = os.fstat(self._input).st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
            self._input = _reopen(self._input, os.O_RDONLY) or self._input
        self._socket = socket.socket(fileno=self._input) if stat.S_ISSOCK(mode) else None
        self._partial_line, self._reads, self._over, self._is_closed = b"", False, False, False
        self._lines: deque[bytes] = deque()
        self._more = asyncio.Event()
        self._out = Outlet(descriptors[1], MOST_UNREAD, self.gone.set)
        self._errors = Outlet(descriptors[2], _MOST_ERRORS, lambda: None)

    def write(self, message: bytes) -> None:
        if not self._out.write(message + b"\n"):
            self.gone.set()

    def tell(self, line: str) -> None:
        """One line for the person at the client; dropped if the client does not read."""
        self._errors.write(line.encode(errors="replace") + b"\n")

    async def lines(self) -> AsyncIterator[bytes]:
        """Every line that is not empty, until the client closes its end."""
        while True:
            while self._lines:
                yield self._lines.popleft()
            if self._over:
                return
            self._more.clear()
            self._resume()
            await self._more.wait()

    def _resume(self) -> None:
        if self._reads:
            return
        try:
            self._loop.add_reader(self._input, self._read_input)
            self._reads = True
        except PermissionError:  # A file: it can always be read.
            self._read_input()

    def _read_input(self) -> None:
        # Another process may read here too: where nothing is left for this one, it does not wait for more.
        try:
            if self._socket is not None:
                piece = self._socket.recv(65536, socket.MSG_DONTWAIT)
            else:
                piece = os.read(self._input, 65536)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        *lines, self._partial_line = (self._partial_line + piece).split(b"\n") if piece else (self._partial_line, b"")
        self._over = not piece or len(self._partial_line) > LARGEST
        self._lines.extend(line for line in (*lines, self._partial_line if self._over else b"") if line.strip())
        if self._over or len(self._lines) > MOST_HELD_LINES:
            self._pause()
        self._more.set()

    def _pause(self) -> None:
        if self._reads:
            self._reads = False
            self._loop.remove_reader(self._input)

    async def close(self, within: float = 2.0) -> None:
        """Close all three, once: their numbers may belong to another client afterwards."""
        if self._is_closed:
            return
        self._is_closed = True
        self._pause()
        await asyncio.gather(self._out.close(within), self._errors.close(within))
        if self._socket is not None:
            self._socket.detach()
        os.close(self._input)
