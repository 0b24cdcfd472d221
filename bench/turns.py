"""What can be said of a cost on a machine that others use too?

Costs are CPU times of this process. Whatever is compared takes turns in short windows, the first one ahead in one
window and the last one in the next; a share is taken within a window, since neighbours in time see the same machine.
Beside each share stands the range in which its median lies nine times out of ten, and beside each comparison a control:
a thing held against another one of its own kind, which shows what the machine adds of itself.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

Step = Callable[[], Awaitable[object]]
DRAWS = 1000


async def spent(step: Step) -> float:
    """Seconds of CPU time, of all threads."""
    before = time.process_time()
    await step()
    return time.process_time() - before


async def take_turns(turn: int, steps: Mapping[str, Step]) -> dict[str, float]:
    """What each of them has spent in this window."""
    names = list(steps)
    at = turn % len(names)
    order = [*names[at:], *names[:at]]
    return {name: await spent(steps[name]) for name in (order if turn % 2 else order[::-1])}


def range_of(values: Sequence[Any], figure: Callable[[Sequence[Any]], float] = statistics.median) -> str:
    """A figure of these values, and between which bounds it lies nine times out of ten when they are drawn again."""
    chance = random.Random(1)
    drawn = sorted(figure(chance.choices(values, k=len(values))) for _ in range(DRAWS))
    return f"{figure(values):.3f} ({drawn[DRAWS // 20]:.3f} to {drawn[-DRAWS // 20]:.3f})"


def growth(points: Sequence[tuple[float, float]]) -> float:
    """By what factor the second grows over the range of the first, by the median of all slopes between two points."""
    (first, _), (last, _) = min(points), max(points)
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(points, 2) if a[0] != b[0]]
    return 1 + statistics.median(slopes or [0.0]) * (last - first)
