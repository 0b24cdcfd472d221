"""When an upstream is left alone, and when it is tried again."""

from collections.abc import Iterator

import pytest

from assent.core.principal import Principal
from assent.upstreams.errors import CircuitOpen
from assent.upstreams.http.circuit_breaker import MOST_CALLERS, CircuitBreaker, Health, current_caller


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def _no_caller() -> Iterator[None]:
    yield
    current_caller.set(None)


def opened(clock: Clock) -> CircuitBreaker:
    circuit_breaker = CircuitBreaker("shop", clock, threshold=3, pause=1.0, longest_pause=4.0)
    for _ in range(3):
        circuit_breaker.enter()
        circuit_breaker.fail("down", sent=False)
    return circuit_breaker


def test_it_opens_only_after_failures_in_a_row() -> None:
    circuit_breaker = CircuitBreaker("shop", Clock(), threshold=3)
    for down in (True, True, False, True, True):
        circuit_breaker.enter()
        circuit_breaker.fail("down", sent=False) if down else circuit_breaker.succeed()
    circuit_breaker.enter()
    assert circuit_breaker.health.state == "closed"


def test_while_open_calls_are_refused_with_the_last_error() -> None:
    with pytest.raises(CircuitOpen, match="down") as refused:
        opened(Clock()).enter()
    assert not refused.value.sent


def test_after_the_pause_one_call_probes_and_the_others_still_wait() -> None:
    clock = Clock()
    circuit_breaker = opened(clock)
    clock.now = 1.0
    circuit_breaker.enter()
    assert circuit_breaker.health.state == "probing"
    with pytest.raises(CircuitOpen):
        circuit_breaker.enter()
    circuit_breaker.succeed()
    circuit_breaker.enter()
    assert circuit_breaker.health.state == "closed"


def test_every_failed_probe_doubles_the_pause_up_to_its_bound() -> None:
    clock = Clock()
    circuit_breaker = opened(clock)
    for pause in (1.0, 2.0, 4.0, 4.0):
        clock.now += pause - 0.01
        with pytest.raises(CircuitOpen):
            circuit_breaker.enter()
        clock.now += 0.01
        circuit_breaker.enter()
        circuit_breaker.fail("still down", sent=False)


def test_a_probe_that_was_given_up_lets_the_next_one_try() -> None:
    clock = Clock()
    circuit_breaker = opened(clock)
    clock.now = 1.0
    circuit_breaker.enter()
    circuit_breaker.abandon()
    circuit_breaker.enter()


def test_requests_that_fail_after_they_were_sent_count_for_their_caller_alone() -> None:
    circuit_breaker = CircuitBreaker("shop", Clock(), threshold=3)
    current_caller.set(Principal("slow", "agent"))
    for _ in range(3):
        circuit_breaker.enter()
        circuit_breaker.fail("no answer", sent=True)
    with pytest.raises(CircuitOpen, match="no answer"):
        circuit_breaker.enter()
    current_caller.set(Principal("other", "agent"))
    circuit_breaker.enter()
    circuit_breaker.succeed()
    current_caller.set(Principal("slow", "agent"))
    with pytest.raises(CircuitOpen):
        circuit_breaker.enter()


def test_a_probe_that_gets_a_connection_lets_the_others_pass_before_it_ends() -> None:
    clock = Clock()
    circuit_breaker = opened(clock)
    clock.now = 1.0
    circuit_breaker.enter()
    circuit_breaker.reach()
    circuit_breaker.enter()
    circuit_breaker.fail("no answer", sent=True)
    assert circuit_breaker.health == Health("closed", 1, "no answer")


def test_no_number_of_callers_takes_memory_without_bound() -> None:
    circuit_breaker = CircuitBreaker("shop", Clock(), threshold=3)
    for number in range(MOST_CALLERS + 100):
        current_caller.set(Principal(str(number), "agent"))
        circuit_breaker.enter()
        circuit_breaker.fail("no answer", sent=True)
    assert len(circuit_breaker._requests) == MOST_CALLERS
