"""Reads and writes lines on the process's standard streams."""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import AsyncIterator

LARGEST = 16 * 1024 * 1024
MOST_UNREAD = 64 * 1024 * 1024


class StandardStreams:
    """Lines in and lines out. Any other output of this process goes to standard error.

    Threads read and write, because a standard stream may be a pipe, a file or a terminal, and only threads can
    wait for all three.
    """

    def __init__(self) -> None:
        self._input, self._output = os.dup(0), os.dup(1)
        os.dup2(2, 1)
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue(64)
        self._out: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._unread = 0
        self.gone = asyncio.Event()
        """Set when the client no longer reads."""
        self._writer = threading.Thread(target=self._write, daemon=True)
        self._writer.start()
        threading.Thread(target=self._read, daemon=True).start()

    async def lines(self) -> AsyncIterator[bytes]:
        """Every line that is not empty, until the client closes its end."""
        while (line := await self._lines.get()) is not None:
            yield line

    def write(self, message: bytes) -> None:
        if self._unread > MOST_UNREAD:
            self.gone.set()
        else:
            self._unread += len(message)
            self._out.put(message + b"\n")

    def close(self, within: float = 2.0) -> None:
        """Writes what is left, unless the client has stopped reading."""
        self._out.put(None)
        self._writer.join(within)

    def _read(self) -> None:
        held = b""
        while piece := self._piece():
            *lines, held = (held + piece).split(b"\n")
            for line in lines:
                if line.strip():
                    self._hand_over(line)
            if len(held) > LARGEST:
                break
        if held.strip():
            self._hand_over(held)
        self._hand_over(None)

    def _piece(self) -> bytes:
        try:
            return os.read(self._input, 65536)
        except OSError:
            return b""

    def _hand_over(self, line: bytes | None) -> None:
        try:
            asyncio.run_coroutine_threadsafe(self._lines.put(line), self._loop).result()
        except (RuntimeError, asyncio.CancelledError):
            return  # The loop is stopping and no longer reads.

    def _write(self) -> None:
        while (message := self._out.get()) is not None:
            try:
                rest = memoryview(message)
                while rest:
                    rest = rest[os.write(self._output, rest) :]
            except OSError:
                self._loop.call_soon_threadsafe(self.gone.set)
                return
            self._unread -= len(message)
