"""Circuit breaker of one upstream: one circuit for connections, and one for each caller's requests.

A broken request may be due to what it asks for, so it does not count against other callers.
"""

from collections.abc import Callable, Hashable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial

from assent.core.limited_dict import LimitedDict
from assent.core.principal import Principal
from assent.upstreams.errors import CircuitOpen

MOST_CALLERS = 10_000

current_caller: ContextVar[Principal | None] = ContextVar("current_caller", default=None)
"""The caller of the request that is being served; None for the gateway's own requests."""


@dataclass(frozen=True, slots=True)
class Health:
    """The state of an upstream, for people and for `/metrics`."""

    state: str  # "closed": calls pass; "open": calls are refused; "probing": one call tests the upstream
    failures: int
    last_error: str | None


class Circuit:
    """Opens after several failures in a row, lets one call probe after a pause, and closes on a success.

    The pause doubles with every failed probe, up to a bound.
    """

    def __init__(self, clock: Callable[[], float], threshold: int, pause: float, longest_pause: float) -> None:
        self._clock = clock
        self._threshold = threshold
        self._first_pause = self._pause = pause
        self._longest_pause = longest_pause
        self._open_until = 0.0
        self._probing = False
        self.failures = 0
        self.last_error: str | None = None

    @property
    def health(self) -> Health:
        state = "closed" if self.failures < self._threshold else "probing" if self._probing else "open"
        return Health(state, self.failures, self.last_error)

    def admits(self) -> bool:
        """Whether a call may pass now."""
        return self.failures < self._threshold or not (self._probing or self._clock() < self._open_until)

    def enter(self) -> None:
        """Record that a call passes; while the circuit is open it is the probe."""
        self._probing = self.failures >= self._threshold

    def succeed(self) -> None:
        self.failures, self._pause, self._probing = 0, self._first_pause, False

    def fail(self, reason: str) -> None:
        self.failures += 1
        self.last_error = reason
        if self.failures >= self._threshold:
            self._open_until = self._clock() + self._pause
            if self._probing or self.failures == self._threshold:
                self._pause = min(self._pause * 2, self._longest_pause)
        self._probing = False

    def abandon(self) -> None:
        """The call ended without information about the upstream."""
        self._probing = False


class CircuitBreaker:
    """Refuses calls to an upstream that cannot be reached, and calls of one caller whose requests keep failing.

    A connection that cannot be made is the upstream's failure, for every caller. A request that was sent and then
    timed out, broke off or got 502 to 504 may fail because of its content: it counts only for its caller.
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
        self._make = partial(Circuit, clock, threshold, pause, longest_pause)
        self._connections = self._make()
        self._requests = LimitedDict[Hashable, Circuit](MOST_CALLERS)
        """The circuits of callers whose last request failed."""
        self.has_failures = False
        """Whether anything has failed lately. While nothing has, `enter`, `reach` and `succeed` change nothing."""

    @property
    def health(self) -> Health:
        """The health of the worst circuit: that of the connections, or of one caller's requests."""
        return max((one.health for one in (self._connections, *self._requests.values())), key=lambda one: one.failures)

    def enter(self) -> None:
        """Let a call pass or raise `CircuitOpen`; every `enter` is followed by `succeed`, `fail` or `abandon`."""
        circuits = self._circuits()
        for circuit in circuits:
            if not circuit.admits():
                detail = f"no calls after {circuit.failures} failures in a row: {circuit.last_error}"
                raise CircuitOpen(self._upstream, detail, sent=False)
        for circuit in circuits:
            circuit.enter()

    def reach(self) -> None:
        """A connection was made: the upstream can be reached, however the request ends."""
        if self._connections.failures:
            self._connections.succeed()

    def succeed(self) -> None:
        self.reach()
        self._requests.pop(_caller(), None)
        self.has_failures = bool(self._requests)

    def fail(self, reason: str, *, sent: bool) -> None:
        """Record a failure before or after the request was sent."""
        self.has_failures = True
        if not sent:
            for own in self._circuits()[1:]:
                own.abandon()
            return self._connections.fail(reason)
        self.reach()
        circuit = self._requests.setdefault(_caller(), self._make())
        circuit.fail(reason)

    def abandon(self) -> None:
        """The call ended without information about the upstream."""
        for circuit in self._circuits():
            circuit.abandon()

    def _circuits(self) -> tuple[Circuit, ...]:
        own = self._requests.get(_caller()) if self._requests else None
        return (self._connections,) if own is None else (self._connections, own)


def _caller() -> Hashable:
    """Who calls, apart from their permissions. Most calls never need it, so it is made only here."""
    principal = current_caller.get()
    return principal.identity if principal is not None else None
