"""Budget of calls that may run without a question."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field


@dataclass(slots=True)
class Budget:
    """A number of calls per number of seconds; calls beyond it need a confirmation."""

    calls: int = 100
    per: float = 3_600.0
    _taken: deque[float] = field(default_factory=deque, repr=False)

    def __post_init__(self) -> None:
        if self.calls < 0 or self.per <= 0:
            raise ValueError("a budget is a number of calls, 0 or more, per a number of seconds above 0")

    def take(self, now: float) -> bool:
        """Count one more call if it is within the budget, and return whether it is."""
        while self._taken and self._taken[0] <= now - self.per:
            self._taken.popleft()
        if len(self._taken) >= self.calls:
            return False
        self._taken.append(now)
        return True
