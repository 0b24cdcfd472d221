"""Writes the standard error of a stdio server to the gateway's log, at a bounded rate.

Each line becomes its own log record, without control characters, so that a server cannot write lines that look like
the gateway's. Output beyond `ALLOWED` bytes within `WINDOW` seconds is dropped, and the log says so once.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable

logger = logging.getLogger(__name__)

ALLOWED = 256 * 1024
STILL_ALLOWED = 16 * 1024
"""The limit for a window that follows one in which output was dropped."""
WINDOW = 10.0
LONGEST_LINE = 4096
_RECORD = 128
_PAUSE = 0.02
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class StderrLog:
    """The standard error of one upstream, over all processes that are started for it."""

    def __init__(self, name: str, clock: Callable[[], float], without_secret: Callable[[bytes], bytes] = bytes) -> None:
        self._name, self._clock, self._without_secret = name, clock, without_secret
        self._bytes_left, self._since = ALLOWED, clock()
        self._dropped, self._dropped_before = 0, 0

    async def read(self, stream: asyncio.StreamReader) -> None:
        """Log every line until the stream ends."""
        held = b""
        try:
            while piece := await stream.read(65536):
                held = self._log_lines(held + piece)
                if self._bytes_left <= 0:
                    await asyncio.sleep(_PAUSE)  # The server waits meanwhile, and other tasks run.
        finally:
            self._log_line(held)
            self._report()

    def _log_lines(self, output: bytes) -> bytes:
        """Log the complete lines; returns the start of the next one."""
        self._turn_window()
        if self._bytes_left <= 0:
            self._drop(len(output))
            return b""
        *lines, rest = output.split(b"\n")
        if len(rest) > LONGEST_LINE:
            lines, rest = [*lines, rest], b""
        for line in lines:
            self._log_line(line)
        return rest

    def _log_line(self, line: bytes) -> None:
        if self._bytes_left <= 0:
            self._drop(len(line))
        elif line.strip():
            text = printable(self._without_secret(line))
            self._bytes_left -= 2 * len(text.encode()) + _RECORD
            logger.info("%s: %s", self._name, text, extra={"upstream": self._name})

    def _turn_window(self) -> None:
        now = self._clock()
        if now - self._since < WINDOW:
            return
        if self._dropped == self._dropped_before:
            self._report()
        self._bytes_left = STILL_ALLOWED if self._dropped else ALLOWED
        self._since, self._dropped_before = now, self._dropped

    def _drop(self, size: int) -> None:
        if size and not self._dropped:
            logger.warning(
                "%s printed more than %d kB on its standard error within %.0f seconds; the rest is dropped until it"
                " prints less", self._name, ALLOWED // 1024, WINDOW,
            )  # fmt: skip
        self._dropped += size

    def _report(self) -> None:
        """Log how much was dropped, now that the flood is over."""
        if self._dropped:
            logger.warning("%s: %d bytes of its standard error were dropped", self._name, self._dropped)
        self._dropped = self._dropped_before = 0


def printable(line: bytes) -> str:
    """A line for the log: bounded, without colours, other control characters escaped."""
    text = _COLOUR.sub("", line[:LONGEST_LINE].decode("utf-8", "replace")).rstrip()
    text = "".join(sign if sign.isprintable() or sign == "\t" else ascii(sign)[1:-1] for sign in text)
    more = len(line) - LONGEST_LINE
    return f"{text} … ({more} more bytes)" if more > 0 else text
