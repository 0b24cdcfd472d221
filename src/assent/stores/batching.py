"""Batches of operations that share one transaction, each with its own result."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from assent.audit.leaf_encoder import Sealed
from assent.errors import AssentError, StoreError
from assent.stores.operations import Order, StoreOperation, Sweep
from assent.stores.record_rules import Records

MOST_PER_COMMIT = 1000
MOST_NOTES = 100_000
LINGER = 0.01
"""Seconds that notes wait for more notes: no caller waits for a note, and one commit per note would be slow."""


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
