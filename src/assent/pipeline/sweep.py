"""What need not be kept any longer?"""

from __future__ import annotations

from assent.errors import StoreError
from assent.ports import Pruned, Store

EVERY = 3600.0
MOST = 1000


async def sweep(store: Store, now: float, retention: float) -> Pruned:
    """One bounded sweep. Everything that is not a claim is kept as long as an answer is by default."""
    try:
        return await store.prune(now, now - retention, MOST)
    except StoreError:
        return Pruned()  # what is kept too long is let go by the next one
