"""Time-ordered random identifiers, and the random bytes that they are made of."""

from __future__ import annotations

import os
import time
from io import BytesIO


class _Randomness:
    """Draws 4096 random bytes at a time from the system: each system call would let another thread run first.

    A read of the buffer is atomic, so that two threads never get the same bytes.
    """

    def __init__(self) -> None:
        self._read = BytesIO().read

    def __call__(self, count: int) -> bytes:
        found = self._read(count)
        if len(found) == count:
            return found
        self._read = BytesIO(os.urandom(4096)).read
        return os.urandom(count)

    def forget(self) -> None:
        """Discard the buffer after a fork: two processes must not use the same bytes."""
        self._read = BytesIO().read


randomness = _Randomness()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=randomness.forget)


def new_id() -> str:
    """Return an unguessable new id. Later ids sort after earlier ones, so that records of one time share disk pages
    and a commit touches few of them.
    """
    return f"{time.time_ns() // 1_000_000:012x}{randomness(10).hex()}"
