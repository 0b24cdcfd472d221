"""What is the next thing called?"""

from __future__ import annotations

import time

from assent.stores.randomness import randomness


def new_id() -> str:
    """A name nobody has or can guess. Later ones sort behind earlier ones, so that neighbours in time lie side by side
    on the disk, and a commit touches few pages."""
    return f"{time.time_ns() // 1_000_000:012x}{randomness(10).hex()}"
