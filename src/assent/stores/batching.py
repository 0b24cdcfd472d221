"""Batches of operations that share one transaction, each with its own result."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from assent.audit.leaf import Sealed
from assent.errors import AssentError, StoreError
from assent.stores.operations import Order, StoreOperation, Sweep
from assent.stores.record_rules import Records

MOST_PER_COMMIT = 1000
MOST_NOTES = 100_000
LINGER = 0.01
"""Seconds that notes wait for more notes: no caller waits for a note, and one commit per note would be slow."""
PATIENCE = 0.005
"""The longest wait for more writes, in seconds."""
MOST_TOGETHER = 256
QUIET = 4


@dataclass(slots=True, eq=False)
class PendingWrite:
    """An operation or sweep, the future of its caller, and its result."""

    order: Order
    future: asyncio.Future[Any]
    value: Any = None
    error: Exception | None = None

    def report(self) -> None:
        """Resolve the caller's future. Call it in the caller's event loop."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.value)

    def fail(self, error: StoreError) -> None:
        self.value, self.error = None, StoreError(str(error))


Item = PendingWrite | Sealed


def take_batch(items: deque[Item]) -> list[Item]:
    """The items of the next commit, in order."""
    return [items.popleft() for _ in range(min(len(items), MOST_PER_COMMIT))]


def orders_in(batch: Iterable[Item]) -> list[PendingWrite]:
    return [item for item in batch if isinstance(item, PendingWrite)]


def operations_in(orders: Iterable[PendingWrite]) -> list[StoreOperation[Any]]:
    return [item.order for item in orders if isinstance(item.order, StoreOperation)]


def sweeps_in(orders: Iterable[PendingWrite]) -> list[tuple[PendingWrite, Sweep]]:
    return [(item, item.order) for item in orders if isinstance(item.order, Sweep)]


def apply(batch: Sequence[Item], records: Records) -> None:
    """Apply every operation to the records, in order. One that raises has changed nothing and fails alone."""
    for item in batch:
        if isinstance(item, Sealed):
            records.changed.entries.append(item)
        elif isinstance(item.order, StoreOperation):
            _perform(item, item.order, records)


def _perform(item: PendingWrite, operation: StoreOperation[Any], records: Records) -> None:
    item.value = item.error = None
    try:
        item.value = operation.apply(records)
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

    def __init__(self, hand_over: Callable[[list[PendingWrite]], None]) -> None:
        self._hand_over = hand_over
        self._orders: deque[PendingWrite] = deque()
        self._activity = 0
        self._last_batch = 0
        self._active_loop: asyncio.AbstractEventLoop | None = None

    def add(self, order: PendingWrite, loop: asyncio.AbstractEventLoop) -> None:
        self._orders.append(order)
        self._activity += 1
        if self._last_batch <= 1 and self._active_loop is None:
            self.release()
        elif self._active_loop is not loop:
            self._active_loop = loop
            loop.call_soon(self._check_turn, loop, self._activity, 0, loop.time())

    def note_commit(self, orders: int) -> None:
        """Report how many callers share a commit. They got their results and may write again soon."""
        self._last_batch = orders
        self._activity += 1

    def _check_turn(self, loop: asyncio.AbstractEventLoop, seen: int, quiet: int, since: float) -> None:
        quiet = quiet + 1 if self._activity == seen else 0
        if quiet < QUIET and len(self._orders) < MOST_TOGETHER and loop.time() - since < PATIENCE:
            loop.call_soon(self._check_turn, loop, self._activity, quiet, since)
        else:
            self._active_loop = None
            self.release()

    def release(self) -> None:
        """Hand over all writes. The event loop of another thread may do the same at once."""
        orders: list[PendingWrite] = []
        with suppress(IndexError):
            for _ in range(len(self._orders)):
                orders.append(self._orders.popleft())
        self._hand_over(orders)
