"""Processor time of a server for each request, with 32 connections that never rest."""

import asyncio
import os
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bench.calls import Exchange, Source

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Measured:
    calls: int
    seconds: float
    cpu: float

    @property
    def per_second(self) -> float:
        return self.calls / self.seconds

    @property
    def cpu_us(self) -> float:
        return self.cpu / self.calls * 1e6


class Caller(asyncio.Protocol):
    """One connection: the next request goes out when the answer to the last one is whole and right."""

    def __init__(self, exchanges: Iterable[Exchange], done: asyncio.Future[None]) -> None:
        self._left = deque(exchanges)
        self._done = done
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._left[0][0])

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, body = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        at = head.lower().find(b"content-length: ")
        if at < 0:
            return self._fail(f"no content-length: {head!r}")
        if len(body) < int(head[at + 16 :].split(b"\r\n", 1)[0]):
            return
        if not head.startswith(b"HTTP/1.1 200") or self._left[0][1] not in body:
            return self._fail(f"wrong answer: {self._buffer[:500]!r}")
        self._buffer = b""
        self._left.popleft()
        if self._left:
            self._transport.write(self._left[0][0])
        else:
            self._transport.close()
            self._done.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._fail("connection lost")

    def _fail(self, words: str) -> None:
        if not self._done.done():
            self._done.set_exception(RuntimeError(words))
        self._transport.abort()


async def drive(port: int, source: Source, *, calls: int, connections: int) -> float:
    """Send `calls` requests over `connections`; gives the seconds."""
    loop = asyncio.get_running_loop()
    shares = [list(islice(source(number), calls // connections)) for number in range(connections)]
    started = loop.time()
    dones = []
    for share in shares:
        done = loop.create_future()
        dones.append(done)
        await loop.create_connection(lambda done=done, share=share: Caller(share, done), "127.0.0.1", port)
    await asyncio.gather(*dones)
    return loop.time() - started


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def running_seconds(pid: int) -> float:
    """The time that a process has run, to the nanosecond; `cpu_seconds` counts in hundredths.

    Threads that have ended count too: some servers begin a thread for each call.
    """
    return time.clock_gettime((~pid << 3) | 2)  # What clock_getcpuclockid(3) gives on Linux.


async def measure(pid: int, port: int, source: Source, *, calls: int, connections: int = 32) -> Measured:
    await drive(port, source, calls=max(connections, calls // 10), connections=connections)
    before = running_seconds(pid)
    seconds = await drive(port, source, calls=calls, connections=connections)
    return Measured(calls // connections * connections, seconds, running_seconds(pid) - before)
