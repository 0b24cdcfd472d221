"""Where do random bytes come from, at the price of a call's time?"""

from __future__ import annotations

import os
from threading import local


class _Randomness(local):
    """Random bytes, drawn from the system by the thousand: each draw would let another thread go first."""

    _drawn, _used = b"", 0

    def __call__(self, many: int) -> bytes:
        if self._used + many > len(self._drawn):
            self._drawn, self._used = os.urandom(max(many, 4096)), 0
        self._used += many
        return self._drawn[self._used - many : self._used]

    def forget(self) -> None:
        """After a fork: two processes must not use the same."""
        self._drawn, self._used = b"", 0


randomness = _Randomness()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=randomness.forget)
