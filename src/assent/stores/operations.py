"""A store operation: the records that it needs, and the change it makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from assent.core.document import DocumentName
from assent.core.quotas import Quotas
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


@dataclass(slots=True, eq=False)
class StoreOperation(Generic[T_co]):
    """A change of records that are named beforehand, so that many operations load theirs at once. Entries are
    already encoded as rows.

    Not frozen: two are made for every call, and freezing would cost more than making them.
    """

    apply: Callable[[Records], T_co]
    claims: tuple[str, ...] = ()
    needs: Needs | None = None
    new: str | None = None
    """The claim that it makes. Usually none with that id exists, and a database can find out by inserting it."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """A bounded cleanup of records that are no longer needed."""

    now: float
    before: float
    limit: int


def no_change() -> StoreOperation[None]:
    return StoreOperation(lambda records: None)


def quota_needs(quotas: Quotas, approvals: tuple[str, ...] = ()) -> Needs:
    rates, tallies = tuple(rate.name for rate in quotas.rates), tuple(charge.tally for charge in quotas.charges)
    return Needs(approvals, rates=rates, tallies=tallies)


Order = StoreOperation[Any] | Sweep
