"""What need not be kept any longer?"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import astuple

from assent.errors import StoreError
from assent.ports import Store

EVERY = 3600.0
MOST = 1000
ROUNDS = 10_000


async def sweep(store: Store, now: float, retention: float) -> None:
    """As many small sweeps as it takes, so that others can write in between. Everything that is not a claim is kept as
    long as an answer is by default."""
    with suppress(StoreError):  # what is kept too long is let go by the next one
        for _ in range(ROUNDS):
            if max(astuple(await store.prune(now, now - retention, MOST))) < MOST:
                return
