"""A bundle as a stream: a .zip archive that is sent while it is written, with the verifier in it."""

from __future__ import annotations

import asyncio
import zipfile
from collections.abc import AsyncIterator, Sequence
from importlib import resources

from assent.audit.bundle import LogMetadata, ZipSink, write_bundle
from assent.audit.protocols import EntrySource

MOST_ENTRIES = 1_000_000
"""Larger logs are exported at the command line."""
MOST_WAITING = 1024 * 1024
"""Bytes that may wait for a slow reader before no more entries are read."""


class _Pipe:
    """Where the archive is written: bytes wait here until they are sent."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._written, self._taken = asyncio.Event(), asyncio.Event()

    def write(self, data: bytes) -> int:
        self._waiting += data
        self._written.set()
        return len(data)

    def flush(self) -> None:
        """Nothing to do: zipfile calls it."""

    async def room(self) -> None:
        while len(self._waiting) > MOST_WAITING:
            self._taken.clear()
            await self._taken.wait()

    async def take(self) -> bytes:
        await self._written.wait()
        data, self._waiting = bytes(self._waiting), bytearray()
        self._written.clear()
        self._taken.set()
        return data

    def end(self) -> None:
        self._written.set()


class _PacedEntries:
    """Entries that are read only while there is room for what is made of them."""

    def __init__(self, entries: EntrySource, pipe: _Pipe) -> None:
        self._entries, self._pipe = entries, pipe

    async def count(self) -> int:
        return await self._entries.count()

    async def leaves(self, start: int, stop: int) -> Sequence[bytes]:
        await self._pipe.room()
        return await self._entries.leaves(start, stop)

    async def values(self, start: int, stop: int) -> Sequence[bytes | None]:
        return await self._entries.values(start, stop)


async def stream_bundle(evidence: LogMetadata, entries: EntrySource, *, values: bool) -> AsyncIterator[bytes]:
    """The archive piece by piece. If it cannot be finished, this raises, and the reader has a torn archive."""
    pipe = _Pipe()
    writing = asyncio.ensure_future(_write(pipe, evidence, entries, values))
    writing.add_done_callback(lambda _: pipe.end())
    try:
        while not writing.done():
            if data := await pipe.take():
                yield data
        writing.result()
        pipe.end()
        yield await pipe.take()
    finally:
        writing.cancel()


async def _write(pipe: _Pipe, evidence: LogMetadata, entries: EntrySource, values: bool) -> None:
    archive = zipfile.ZipFile(pipe, "w")  # type: ignore[call-overload]
    sink = ZipSink(archive)
    sink.put("verifier.py", verifier_source())
    await write_bundle(sink, evidence, _PacedEntries(entries, pipe), values=values)
    archive.close()  # only now: an archive that could not be finished must not look whole


def verifier_source() -> bytes:
    """The stand-alone verifier, one file."""
    return resources.files("assent.audit").joinpath("verifier.py").read_bytes()
