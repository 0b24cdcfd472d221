"""Batches of operations that share one transaction, each with its own result (ADR 0011)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from assent.audit.leaf import Sealed
from assent.errors import AssentError, StoreError
from assent.stores.operations import StoreOperation
from assent.stores.record_rules import Records

MOST_PER_COMMIT = 1000
MOST_NOTES = 100_000
LINGER = 0.01
"""Seconds that notes wait for more notes: no caller waits for a note, and one commit per note would be slow."""
PATIENCE = 0.005
"""The longest wait for more writes, in seconds."""
MOST_TOGETHER = 256
QUIET = 4


Item = StoreOperation[Any] | Sealed


def take_batch(items: deque[Item]) -> tuple[list[Item], list[StoreOperation[Any]]]:
    """The items of the next commit in order, and the operations among them. The others are rows of the log."""
    popleft = items.popleft
    batch = [popleft() for _ in range(min(len(items), MOST_PER_COMMIT))]
    return batch, operations_in(batch)


def operations_in(batch: Sequence[Item]) -> list[StoreOperation[Any]]:
    return [item for item in batch if not isinstance(item, Sealed)]


def apply(batch: Sequence[Item], records: Records) -> None:
    """Apply every operation to the records, in order. One that raises has changed nothing and fails alone."""
    for item in batch:
        if isinstance(item, Sealed):
            records.changed.entries.append(item)
            continue
        item.value = item.error = None
        try:
            item.value = item.apply(records)
        except AssentError as error:
            item.error = error
        except Exception as error:
            item.error = StoreError(f"The store could not write the record: {error}.")


class CommitBatcher:
    """Collects writes of concurrent calls so that they share one commit.

    Writes are handed over when four turns of the event loop bring no new one: a message read in one turn causes a write
    in the next. Under load it pays to wait, within bounds: a commit costs nearly the same for one write or thirty. A
    caller that is alone does not wait: its write is handed over at once while commits hold one write each.
    """

    def __init__(self, hand_over: Callable[[list[StoreOperation[Any]]], None]) -> None:
        self._hand_over = hand_over
        self._waiting: deque[StoreOperation[Any]] = deque()
        self._activity = 0
        self._last_batch = 0
        self._active_loop: asyncio.AbstractEventLoop | None = None

    def add(self, operation: StoreOperation[Any], loop: asyncio.AbstractEventLoop) -> None:
        self._activity += 1
        active = self._active_loop
        if active is None and self._last_batch <= 1:
            self._hand_over([operation])
            return
        self._waiting.append(operation)
        if active is not loop:
            self._active_loop = loop
            loop.call_soon(self._check_turn, loop, self._activity, 0, loop.time())

    def note_commit(self, operations: int) -> None:
        """Report how many callers share a commit. They got their results and may write again soon."""
        self._last_batch = operations
        self._activity += 1

    def _check_turn(self, loop: asyncio.AbstractEventLoop, seen: int, quiet: int, since: float) -> None:
        quiet = quiet + 1 if self._activity == seen else 0
        if quiet < QUIET and len(self._waiting) < MOST_TOGETHER and loop.time() - since < PATIENCE:
            loop.call_soon(self._check_turn, loop, self._activity, quiet, since)
        else:
            self._active_loop = None
            self.release()

    def release(self) -> None:
        """Hand over all writes. The event loop of another thread may do the same at once."""
        operations: list[StoreOperation[Any]] = []
        popleft, take = self._waiting.popleft, operations.append
        with suppress(IndexError):
            for _ in range(len(self._waiting)):
                take(popleft())
        self._hand_over(operations)
