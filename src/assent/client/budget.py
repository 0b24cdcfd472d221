"""How much may run without anybody being asked?"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field


@dataclass(slots=True)
class Budget:
    """So many calls in so many seconds; what goes beyond is asked about."""

    calls: int = 100
    per: float = 3_600.0
    _taken: deque[float] = field(default_factory=deque, repr=False)

    def __post_init__(self) -> None:
        if self.calls < 0 or self.per <= 0:
            raise ValueError("a budget is a number of calls, 0 or more, per a number of seconds above 0")

    def take(self, now: float) -> bool:
        """Whether one more call is within the budget; if so it counts."""
        while self._taken and self._taken[0] <= now - self.per:
            self._taken.popleft()
        if len(self._taken) >= self.calls:
            return False
        self._taken.append(now)
        return True
