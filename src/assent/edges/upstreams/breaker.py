"""Is this upstream worth trying right now, and how has it been?"""

from collections.abc import Callable
from dataclasses import dataclass

from assent.edges.upstreams.faults import Suspended


@dataclass(frozen=True, slots=True)
class Health:
    """How an upstream is doing, for people and for `/readyz`."""

    state: str  # "closed": calls go through; "open": left alone; "probing": one call is finding out
    failures: int
    last_error: str | None


class Breaker:
    """Opens after some failures in a row, lets one call probe after a pause, closes on a success.

    The pause doubles with every failed probe, up to a bound.
    """

    def __init__(
        self,
        upstream: str,
        clock: Callable[[], float],
        *,
        threshold: int = 5,
        pause: float = 1.0,
        longest_pause: float = 30.0,
    ) -> None:
        self._upstream = upstream
        self._clock = clock
        self._threshold = threshold
        self._first_pause = self._pause = pause
        self._longest_pause = longest_pause
        self._failures = 0
        self._open_until = 0.0
        self._probing = False
        self._last_error: str | None = None

    @property
    def health(self) -> Health:
        state = "closed" if self._failures < self._threshold else "probing" if self._probing else "open"
        return Health(state, self._failures, self._last_error)

    def enter(self) -> None:
        """Let a call pass or raise `Suspended`; every `enter` is followed by one of the three below."""
        if self._failures < self._threshold:
            return
        if self._probing or self._clock() < self._open_until:
            detail = f"left alone after {self._failures} failures in a row: {self._last_error}"
            raise Suspended(self._upstream, detail, sent=False)
        self._probing = True

    def succeed(self) -> None:
        if self._failures:
            self._failures, self._pause, self._probing = 0, self._first_pause, False

    def fail(self, reason: str) -> None:
        self._failures += 1
        self._last_error = reason
        if self._failures >= self._threshold:
            self._open_until = self._clock() + self._pause
            if self._probing or self._failures == self._threshold:
                self._pause = min(self._pause * 2, self._longest_pause)
        self._probing = False

    def abandon(self) -> None:
        """The call ended without telling us anything about the upstream."""
        self._probing = False
