"""Counts failed authentications and logs them in summaries."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from assent.core.audit import Entry
from assent.errors import StoreError
from assent.web.asgi import Scope

INTERVAL = 60.0
MOST_ADDRESSES = 20


class FailedAuthCounter:
    """Counts failed authentications and writes at most one audit entry per interval.

    Addresses are kept as erasable values of the entry, up to a limit.
    """

    def __init__(self, note: Callable[[Entry], None], now: Callable[[], float], interval: float = INTERVAL) -> None:
        self._note, self._now, self._interval = note, now, interval
        self._codes: Counter[str] = Counter()
        self._addresses: Counter[str] = Counter()
        self._since = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self.tell: Callable[[str, str], None] = lambda code, address: None
        """Is told the code and the address of each failure."""

    def count_failure(self, code: str, scope: Scope) -> None:
        if not self._codes:
            self._since = self._now()
        self._codes[code] += 1
        address = (scope.get("client") or ("unknown", 0))[0]
        self.tell(code, address)
        if address in self._addresses or len(self._addresses) < MOST_ADDRESSES:
            self._addresses[address] += 1
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._interval, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        with suppress(StoreError):  # The counts are kept and written with the next summary.
            self.write()

    def write(self) -> None:
        """Writes the counts so far as one entry, if there are any."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._codes:
            return
        since = int(self._since * 1000)
        facts = {"event": "authentication.failed", "count": sum(self._codes.values()), "since": since}
        values = {"codes": dict(self._codes), "addresses": dict(self._addresses)}
        self._note(Entry("authentication", self._now(), facts, values))
        self._codes.clear()
        self._addresses.clear()
