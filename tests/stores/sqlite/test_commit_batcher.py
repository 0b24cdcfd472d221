"""Calls that are under way together share a commit, and nobody waits for company that does not come."""

import asyncio
from collections import deque
from typing import Any

import pytest

from assent.stores import batching
from assent.stores.batching import QUIET, CommitBatcher
from assent.stores.operations import StoreOperation, no_change


class Hall:
    """A gathering, and what was handed over, by number and turn."""

    def __init__(self, last_batch: int = 2) -> None:
        self.groups: list[list[int]] = []
        self.numbers: dict[StoreOperation[Any], int] = {}
        self.commit_batcher = CommitBatcher(self._take)
        self.commit_batcher.note_commit(last_batch)

    def _take(self, orders: list[StoreOperation[Any]]) -> None:
        self.groups.append([self.numbers[order] for order in orders])

    def enter(self, number: int) -> None:
        operation = no_change()
        self.numbers[operation] = number
        self.commit_batcher.add(operation, asyncio.get_running_loop())


async def turns(many: int) -> None:
    for _ in range(many):
        await asyncio.sleep(0)


async def test_somebody_who_was_alone_last_time_is_handed_over_at_once() -> None:
    hall = Hall(last_batch=1)
    hall.enter(1)
    assert hall.groups == [[1]]
    hall.commit_batcher.note_commit(2)
    hall.enter(2)
    assert hall.groups == [[1]]


async def test_somebody_after_a_shared_commit_is_handed_over_after_a_few_empty_turns() -> None:
    hall = Hall()
    hall.enter(1)
    await turns(QUIET - 1)
    assert hall.groups == []
    await turns(1)
    assert hall.groups == [[1]]


async def test_those_who_come_turn_by_turn_go_together() -> None:
    hall = Hall()
    for number in range(5):
        hall.enter(number)
        await turns(1)
    await turns(QUIET)
    assert hall.groups == [[0, 1, 2, 3, 4]]


async def test_a_turn_that_tells_somebody_that_theirs_is_kept_is_waited_out() -> None:
    hall = Hall()
    hall.enter(1)
    await turns(QUIET - 1)
    hall.commit_batcher.note_commit(2)
    await turns(QUIET)
    hall.enter(2)
    await turns(QUIET + 1)
    assert hall.groups == [[1, 2]]


async def test_a_few_turns_without_news_end_the_wait() -> None:
    hall = Hall()
    hall.enter(1)
    hall.enter(2)
    await turns(QUIET + 1)
    hall.enter(3)
    await turns(QUIET)
    assert hall.groups == [[1, 2], [3]]


async def test_patience_ends_where_the_news_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "PATIENCE", 0.0)
    hall = Hall()
    for number in range(3):
        hall.enter(number)
        hall.enter(number + 10)
        await turns(1)
    assert hall.groups == [[0, 10], [1, 11], [2, 12]]


async def test_a_full_hall_is_handed_over_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "MOST_TOGETHER", 4)
    monkeypatch.setattr(batching, "PATIENCE", 1e9)
    hall = Hall()
    for number in range(8):
        hall.enter(number)
        await turns(1)
    assert hall.groups == [[0, 1, 2, 3], [4, 5, 6, 7]]


async def test_whatever_there_is_can_be_released_without_waiting() -> None:
    hall = Hall()
    hall.enter(1)
    hall.enter(2)
    hall.commit_batcher.release()
    assert hall.groups == [[1, 2]]


class Passed(deque[StoreOperation[Any]]):
    """A queue that another thread empties while somebody takes from it."""

    def __init__(self, orders: deque[StoreOperation[Any]], meanwhile: Any) -> None:
        super().__init__(orders)
        self.meanwhile = meanwhile

    def popleft(self) -> StoreOperation[Any]:
        if len(self) == 2 and self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        return super().popleft()


async def test_nobody_is_lost_when_two_threads_hand_over_at_once() -> None:
    hall = Hall()
    for number in range(4):
        hall.enter(number)
    hall.commit_batcher._waiting = Passed(hall.commit_batcher._waiting, hall.commit_batcher.release)
    hall.commit_batcher.release()
    assert sorted(number for group in hall.groups for number in group) == [0, 1, 2, 3]
