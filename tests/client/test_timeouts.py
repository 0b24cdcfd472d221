"""One timer ends whatever takes too long, and nothing else."""

from __future__ import annotations

import asyncio

import pytest

from assent.client.timeouts import SharedTimer


async def forever() -> None:
    await asyncio.Event().wait()


async def test_what_takes_too_long_is_a_time_out() -> None:
    patience = SharedTimer()
    with pytest.raises(TimeoutError):
        with patience.within(0.001):
            await forever()
    current = asyncio.current_task()
    assert current is not None
    assert current.cancelling() == 0


async def test_what_is_quick_is_left_alone_and_the_next_one_is_timed_too() -> None:
    patience = SharedTimer()
    for _ in range(3):
        with patience.within(0.001):
            await asyncio.sleep(0)
    with pytest.raises(TimeoutError):
        with patience.within(0.002):
            await forever()


async def test_each_has_its_own_end_whichever_came_first() -> None:
    patience, ended = SharedTimer(), list[str]()

    async def wait(name: str, seconds: float) -> None:
        try:
            with patience.within(seconds):
                await forever()
        except TimeoutError:
            ended.append(name)

    await asyncio.gather(wait("late", 0.02), wait("early", 0.001), wait("middle", 0.01))
    assert ended == ["early", "middle", "late"]


async def test_a_person_may_think_for_as_long_as_they_like() -> None:
    patience = SharedTimer()
    with patience.within(0.001) as block:
        block.reschedule(None)
        with pytest.raises(TimeoutError):
            with patience.within(0.005):
                await forever()


async def test_when_they_have_thought_the_rest_takes_its_time_again() -> None:
    patience = SharedTimer()
    with pytest.raises(TimeoutError):
        with patience.within(60) as block:
            block.reschedule(None)
            block.reschedule(asyncio.get_running_loop().time() + 0.001)
            await forever()


async def test_whoever_is_cancelled_is_cancelled_and_not_late() -> None:
    patience, started = SharedTimer(), asyncio.Event()

    async def wait() -> None:
        with patience.within(60):
            started.set()
            await forever()

    waiting = asyncio.ensure_future(wait())
    await started.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_an_error_of_the_blocks_own_is_its_own() -> None:
    with pytest.raises(KeyError):
        with SharedTimer().within(60):
            raise KeyError("x")
