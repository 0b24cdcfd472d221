"""Where do random bytes come from, at the price of a call's time?"""

from __future__ import annotations

import os
from io import BytesIO


class _Randomness:
    """Random bytes, drawn from the system by the thousand: each draw would let another thread go first.

    A read of a buffer is one step, so that no two threads are given the same.
    """

    def __init__(self) -> None:
        self._read = BytesIO().read

    def __call__(self, many: int) -> bytes:
        found = self._read(many)
        if len(found) == many:
            return found
        self._read = BytesIO(os.urandom(4096)).read
        return os.urandom(many)

    def forget(self) -> None:
        """After a fork: two processes must not use the same."""
        self._read = BytesIO().read


randomness = _Randomness()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=randomness.forget)
