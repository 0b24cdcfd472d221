"""Store operations: the records that each one needs, and the change it makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from assent.core.approval import Approval, Decision
from assent.core.audit import Entry
from assent.core.claims import ClaimRecord, Settlement
from assent.core.document import Document, DocumentName
from assent.core.keys import KeyRecord
from assent.core.quotas import Quotas
from assent.ports import Rehearsal
from assent.stores.record_rules import Records
from assent.stores.rows import entry_row, entry_rows

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


def claim(
    draft: ClaimRecord, entry: Entry, approval: str | None, now: float, quotas: Quotas
) -> StoreOperation[ClaimRecord]:
    row = entry_row(entry)
    needs = (
        _quota_needs(quotas, (approval,) if approval is not None else ()) if quotas or approval is not None else None
    )
    return StoreOperation(lambda records: records.claim(draft, row, approval, now, quotas), (), needs, draft.id)


def admit(quotas: Quotas, now: float) -> StoreOperation[None]:
    return StoreOperation(lambda records: records.admit(quotas, now), needs=_quota_needs(quotas))


def _quota_needs(quotas: Quotas, approvals: tuple[str, ...] = ()) -> Needs:
    rates, tallies = tuple(rate.name for rate in quotas.rates), tuple(charge.tally for charge in quotas.charges)
    return Needs(approvals, rates=rates, tallies=tallies)


def retake(
    claim_id: str, epoch: int, lease_until: float, now: float, entry: Entry
) -> StoreOperation[ClaimRecord | None]:
    row = entry_row(entry)
    return StoreOperation(lambda records: records.retake(claim_id, epoch, lease_until, now, row), (claim_id,))


def doubt(claim_id: str, epoch: int, now: float, entry: Entry) -> StoreOperation[ClaimRecord | None]:
    row = entry_row(entry)
    return StoreOperation(lambda records: records.doubt(claim_id, epoch, now, row), (claim_id,))


def settle(claim_id: str, epoch: int, settlement: Settlement, entries: Sequence[Entry]) -> StoreOperation[bool]:
    rows = entry_rows(entries)
    return StoreOperation(lambda records: records.settle(claim_id, epoch, settlement, rows), (claim_id,))


def extend(leases: Sequence[tuple[str, int]], lease_until: float) -> StoreOperation[None]:
    held = list(leases)
    names = tuple(name for name, _ in held)
    return StoreOperation(lambda records: records.extend(held, lease_until), claims=names)


def ask(draft: Approval, now: float, most_pending: int, entry: Entry, cooldown: float) -> StoreOperation[Approval]:
    row = entry_row(entry)
    question = ApprovalQuery(draft.binding, draft.tenant, draft.requester, now, now - cooldown)
    return StoreOperation(
        lambda records: records.ask(draft, now, most_pending, row, cooldown),
        needs=Needs((draft.id,), (question,)),
    )


def decide(approval_id: str, decision: Decision, now: float, entry: Entry) -> StoreOperation[Approval | None]:
    row = entry_row(entry)
    return StoreOperation(lambda records: records.decide(approval_id, decision, now, row), needs=Needs((approval_id,)))


def remember(rehearsal: Rehearsal, entry: Entry) -> StoreOperation[None]:
    row = entry_row(entry)
    return StoreOperation(lambda records: records.remember(rehearsal, row))


def add_key(record: KeyRecord, entry: Entry) -> StoreOperation[None]:
    row = entry_row(entry)
    return StoreOperation(lambda records: records.add_key(record, row), needs=Needs(keys=(record.digest,)))


def revoke_key(digest: str, now: float, entry: Entry) -> StoreOperation[KeyRecord | None]:
    row = entry_row(entry)
    return StoreOperation(lambda records: records.revoke_key(digest, now, row), needs=Needs(keys=(digest,)))


def put_document(
    draft: Document, now: float, expected: int | None, entry: Entry | None
) -> StoreOperation[Document | None]:
    rows = entry_rows([entry] if entry is not None else [])
    needs = Needs(documents=(draft.name,))
    return StoreOperation(lambda records: records.put_document(draft, now, expected, rows), needs=needs)


def delete_document(
    name: DocumentName, now: float, expected: int | None, entry: Entry | None
) -> StoreOperation[Document | None]:
    rows = entry_rows([entry] if entry is not None else [])
    return StoreOperation(
        lambda records: records.delete_document(name, now, expected, rows), needs=Needs(documents=(name,))
    )


def erase(index: int, fields: Sequence[str], entry: Entry) -> StoreOperation[None]:
    row, names = entry_row(entry), tuple(fields)
    return StoreOperation(lambda records: records.erase(index, names, row), needs=Needs(places=(index,)))


Order = StoreOperation[Any] | Sweep
