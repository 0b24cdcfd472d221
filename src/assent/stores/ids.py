"""Time-ordered random identifiers."""

from __future__ import annotations

import time

from assent.stores.randomness import randomness


def new_id() -> str:
    """Return an unguessable new id. Later ids sort after earlier ones, so that records of one time share disk pages
    and a commit touches few of them.
    """
    return f"{time.time_ns() // 1_000_000:012x}{randomness(10).hex()}"
