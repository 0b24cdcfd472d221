"""Which records does each operation need, and what does it do to them?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from assent.core.approval import Approval, Decision
from assent.core.audit import Entry
from assent.core.claims import ClaimRecord, Settlement
from assent.core.dues import Dues
from assent.core.keys import KeyRecord
from assent.ports import Rehearsal
from assent.stores.records import Records
from assent.stores.rows import entry_row, entry_rows

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked at before a question is asked: what answers for it, and the asker's others."""

    binding: str
    tenant: str
    requester: str
    now: float
    since: float
    """Denials from then on matter."""


class Operation(NamedTuple, Generic[T_co]):
    """A change of some records, named beforehand so that many can be loaded at once. Entries are rows already."""

    apply: Callable[[Records], T_co]
    claims: tuple[str, ...] = ()
    approvals: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    rates: tuple[str, ...] = ()
    tallies: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    places: tuple[int, ...] = ()
    """Of entries whose values it erases."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """A bounded look for what nobody needs any more."""

    now: float
    before: float
    limit: int


def nothing() -> Operation[None]:
    return Operation(lambda records: None)


def claim(draft: ClaimRecord, entry: Entry, approval: str | None, now: float, dues: Dues) -> Operation[ClaimRecord]:
    row = entry_row(entry)
    return Operation(
        lambda records: records.claim(draft, row, approval, now, dues),
        claims=(draft.id,),
        approvals=(approval,) if approval is not None else (),
        rates=tuple(rate.name for rate in dues.rates),
        tallies=tuple(charge.tally for charge in dues.charges),
    )


def admit(dues: Dues, now: float) -> Operation[None]:
    return Operation(
        lambda records: records.admit(dues, now),
        rates=tuple(rate.name for rate in dues.rates),
        tallies=tuple(charge.tally for charge in dues.charges),
    )


def retake(claim_id: str, epoch: int, lease_until: float, now: float, entry: Entry) -> Operation[ClaimRecord | None]:
    row = entry_row(entry)
    return Operation(lambda records: records.retake(claim_id, epoch, lease_until, now, row), claims=(claim_id,))


def doubt(claim_id: str, epoch: int, now: float, entry: Entry) -> Operation[ClaimRecord | None]:
    row = entry_row(entry)
    return Operation(lambda records: records.doubt(claim_id, epoch, now, row), claims=(claim_id,))


def settle(claim_id: str, epoch: int, settlement: Settlement, entries: Sequence[Entry]) -> Operation[bool]:
    rows = entry_rows(entries)
    return Operation(lambda records: records.settle(claim_id, epoch, settlement, rows), claims=(claim_id,))


def extend(leases: Sequence[tuple[str, int]], lease_until: float) -> Operation[None]:
    held = list(leases)
    names = tuple(name for name, _ in held)
    return Operation(lambda records: records.extend(held, lease_until), claims=names)


def ask(draft: Approval, now: float, most_pending: int, entry: Entry, cooldown: float) -> Operation[Approval]:
    row = entry_row(entry)
    question = Question(draft.binding, draft.tenant, draft.requester, now, now - cooldown)
    return Operation(
        lambda records: records.ask(draft, now, most_pending, row, cooldown),
        approvals=(draft.id,),
        questions=(question,),
    )


def decide(approval_id: str, decision: Decision, now: float, entry: Entry) -> Operation[Approval | None]:
    row = entry_row(entry)
    return Operation(lambda records: records.decide(approval_id, decision, now, row), approvals=(approval_id,))


def remember(rehearsal: Rehearsal, entry: Entry) -> Operation[None]:
    row = entry_row(entry)
    return Operation(lambda records: records.remember(rehearsal, row))


def add_key(record: KeyRecord, entry: Entry) -> Operation[None]:
    row = entry_row(entry)
    return Operation(lambda records: records.add_key(record, row), keys=(record.digest,))


def revoke_key(digest: str, now: float, entry: Entry) -> Operation[KeyRecord | None]:
    row = entry_row(entry)
    return Operation(lambda records: records.revoke_key(digest, now, row), keys=(digest,))


def erase(index: int, fields: Sequence[str], entry: Entry) -> Operation[None]:
    row, names = entry_row(entry), tuple(fields)
    return Operation(lambda records: records.erase(index, names, row), places=(index,))


Order = Operation[Any] | Sweep
