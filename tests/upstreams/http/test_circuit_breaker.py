"""When an upstream is left alone, and when it is tried again."""

from collections.abc import Iterator

import pytest

from assent.edges.upstreams.breaker import MOST_CALLERS, Breaker, Health, current_caller
from assent.edges.upstreams.faults import Suspended


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def _no_caller() -> Iterator[None]:
    yield
    current_caller.set(None)


def opened(clock: Clock) -> Breaker:
    breaker = Breaker("shop", clock, threshold=3, pause=1.0, longest_pause=4.0)
    for _ in range(3):
        breaker.enter()
        breaker.fail("down", sent=False)
    return breaker


def test_it_opens_only_after_failures_in_a_row() -> None:
    breaker = Breaker("shop", Clock(), threshold=3)
    for down in (True, True, False, True, True):
        breaker.enter()
        breaker.fail("down", sent=False) if down else breaker.succeed()
    breaker.enter()
    assert breaker.health.state == "closed"


def test_while_open_calls_are_refused_with_the_last_error() -> None:
    with pytest.raises(Suspended, match="down") as refused:
        opened(Clock()).enter()
    assert not refused.value.sent


def test_after_the_pause_one_call_probes_and_the_others_still_wait() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now = 1.0
    breaker.enter()
    assert breaker.health.state == "probing"
    with pytest.raises(Suspended):
        breaker.enter()
    breaker.succeed()
    breaker.enter()
    assert breaker.health.state == "closed"


def test_every_failed_probe_doubles_the_pause_up_to_its_bound() -> None:
    clock = Clock()
    breaker = opened(clock)
    for pause in (1.0, 2.0, 4.0, 4.0):
        clock.now += pause - 0.01
        with pytest.raises(Suspended):
            breaker.enter()
        clock.now += 0.01
        breaker.enter()
        breaker.fail("still down", sent=False)


def test_a_probe_that_was_given_up_lets_the_next_one_try() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now = 1.0
    breaker.enter()
    breaker.abandon()
    breaker.enter()


def test_requests_that_fail_after_they_were_sent_count_for_their_caller_alone() -> None:
    breaker = Breaker("shop", Clock(), threshold=3)
    current_caller.set("slow")
    for _ in range(3):
        breaker.enter()
        breaker.fail("no answer", sent=True)
    with pytest.raises(Suspended, match="no answer"):
        breaker.enter()
    current_caller.set("other")
    breaker.enter()
    breaker.succeed()
    current_caller.set("slow")
    with pytest.raises(Suspended):
        breaker.enter()


def test_a_probe_that_gets_a_connection_lets_the_others_pass_before_it_ends() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now = 1.0
    breaker.enter()
    breaker.reach()
    breaker.enter()
    breaker.fail("no answer", sent=True)
    assert breaker.health == Health("closed", 1, "no answer")


def test_no_number_of_callers_takes_memory_without_bound() -> None:
    breaker = Breaker("shop", Clock(), threshold=3)
    for number in range(MOST_CALLERS + 100):
        current_caller.set(number)
        breaker.enter()
        breaker.fail("no answer", sent=True)
    assert len(breaker._requests) == MOST_CALLERS
