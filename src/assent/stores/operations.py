"""A store operation: the records that it needs, the change it makes, and its result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from assent.core.document import DocumentName
from assent.core.quotas import Quotas
from assent.errors import StoreError
from assent.ports import Pruned
from assent.stores.record_rules import Records

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class ApprovalQuery:
    """The approvals to load before a new question: those that answer for the binding, and the requester's others."""

    binding: str
    tenant: str
    requester: str
    now: float
    since: float
    """Load declines from this time on."""


@dataclass(frozen=True, slots=True)
class Needs:
    """The records that an operation needs besides claims."""

    approvals: tuple[str, ...] = ()
    questions: tuple[ApprovalQuery, ...] = ()
    rates: tuple[str, ...] = ()
    tallies: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    documents: tuple[DocumentName, ...] = ()
    places: tuple[int, ...] = ()
    """Indexes of entries whose values are erased."""


class StoreOperation(Generic[T_co]):
    """A change of records that are named beforehand, so that many operations load theirs at once. Entries are
    already encoded as rows.

    `new` is the claim that it makes. Usually none with that id exists, and a database can find out by inserting it.
    A writer adds the future of the caller and the result.
    """

    __slots__ = ("apply", "claims", "error", "future", "needs", "new", "value")
    future: asyncio.Future[Any]

    def __init__(
        self,
        apply: Callable[[Records], T_co],
        claims: tuple[str, ...] = (),
        needs: Needs | None = None,
        new: str | None = None,
    ) -> None:
        self.apply, self.claims, self.needs, self.new = apply, claims, needs, new
        self.value: Any = None
        self.error: Exception | None = None

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


class Sweep(StoreOperation[Pruned | None]):
    """A bounded cleanup of records that are no longer needed. It changes no loaded records: the writer runs it."""

    __slots__ = ("before", "limit", "now")

    def __init__(self, now: float, before: float, limit: int) -> None:
        super().__init__(lambda records: None)
        self.now, self.before, self.limit = now, before, limit


def no_change() -> StoreOperation[None]:
    return StoreOperation(lambda records: None)


def quota_needs(quotas: Quotas, approvals: tuple[str, ...] = ()) -> Needs:
    rates, tallies = tuple(rate.name for rate in quotas.rates), tuple(charge.tally for charge in quotas.charges)
    return Needs(approvals, rates=rates, tallies=tallies)
