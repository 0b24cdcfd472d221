"""Deletes records that are no longer needed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import astuple

from assent.errors import StoreError
from assent.ports import Store

EVERY = 3600.0
MOST = 1000
ROUNDS = 10_000


async def sweep(store: Store, now: float, retention: float) -> None:
    """Run as many small sweeps as needed, so that others can write in between.

    Everything except claims is kept as long as results are by default.
    """
    with suppress(StoreError):  # The next sweep deletes what this one could not.
        for _ in range(ROUNDS):
            if max(astuple(await store.prune(now, now - retention, MOST))) < MOST:
                return
