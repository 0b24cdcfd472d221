"""The base class of the stores: turns the port's methods into operations on records.

A store implements how it reads and how it applies an operation; what each method means is defined here once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence
from decimal import Decimal
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

import orjson

from assent.audit.leaf import BadEntry, Sealed, seal
from assent.core.api_keys import KeyRecord
from assent.core.approval import Approval, Decision
from assent.core.audit import Entry
from assent.core.claims import ClaimRecord, Settlement, State
from assent.core.document import Document
from assent.core.ids import randomness
from assent.core.quotas import NOTHING, Quotas
from assent.errors import StoreError
from assent.stores.api_keys import add_key, revoke_key
from assent.stores.change_waiter import ChangeWaiter
from assent.stores.erasure import erase
from assent.stores.operations import ApprovalQuery, Needs, StoreOperation, no_change, quota_needs
from assent.stores.record_rules import Records

T = TypeVar("T")


class Change(Protocol):
    """Applies one operation; done when it is durable."""

    def __call__(self, operation: StoreOperation[T], /) -> Awaitable[T]: ...


class BatchedStore(ABC):
    """Implements the writing methods and the waiting methods of the store port."""

    def __init__(self, change: Change) -> None:
        self._change, self._waiters = change, ChangeWaiter()

    @abstractmethod
    async def _load_records(self, operation: StoreOperation[Any]) -> Records:
        """Load the records that an operation needs, for reading only."""

    @abstractmethod
    async def claim_by_id(self, claim_id: str) -> ClaimRecord | None: ...

    @abstractmethod
    async def approval(self, approval_id: str) -> Approval | None: ...

    def claim(
        self, draft: ClaimRecord, entry: Entry, approval: str | None, now: float, quotas: Quotas = NOTHING
    ) -> Awaitable[ClaimRecord]:
        row, used = entry_row(entry), (approval,) if approval is not None else ()
        needs = quota_needs(quotas, used) if quotas is not NOTHING or used else None
        return self._change(
            StoreOperation(lambda records: records.claim(draft, row, approval, now, quotas), (), needs, draft.id)
        )

    async def admit(self, quotas: Quotas, now: float) -> None:
        await self._change(_admission(quotas, now))

    async def afford(self, quotas: Quotas, now: float) -> None:
        operation = _admission(quotas, now)
        operation.apply(await self._load_records(operation))

    async def retake(
        self, claim_id: str, epoch: int, lease_until: float, now: float, entry: Entry
    ) -> ClaimRecord | None:
        row = entry_row(entry)
        return await self._change(
            StoreOperation(lambda records: records.retake(claim_id, epoch, lease_until, now, row), (claim_id,))
        )

    async def mark_in_doubt(self, claim_id: str, epoch: int, now: float, entry: Entry) -> ClaimRecord | None:
        row = entry_row(entry)
        doubted = await self._change(
            StoreOperation(lambda records: records.doubt(claim_id, epoch, now, row), (claim_id,))
        )
        self._waiters.wake([claim_id])
        return doubted

    async def settle(self, claim_id: str, epoch: int, settlement: Settlement, entries: Sequence[Entry]) -> bool:
        rows = entry_rows(entries)
        settled = await self._change(
            StoreOperation(lambda records: records.settle(claim_id, epoch, settlement, rows), (claim_id,))
        )
        if settled and self._waiters.waiting:
            self._waiters.wake([claim_id])
        return settled

    async def extend(self, leases: Sequence[tuple[str, int]], lease_until: float) -> None:
        held = list(leases)
        names = tuple(name for name, _ in held)
        await self._change(StoreOperation(lambda records: records.extend(held, lease_until), names))

    async def wait_until_ended(self, claim_id: str, timeout: float) -> ClaimRecord | None:
        return await self._waiters.until(
            claim_id, self.claim_by_id, lambda record: record is None or record.state is not State.STARTED, timeout
        )

    async def ask(
        self,
        draft: Approval,
        now: float,
        most_pending: int,
        entry: Entry,
        cooldown: float = 0.0,
        claim: str | None = None,
    ) -> Approval:
        row = entry_row(entry)
        question = ApprovalQuery(draft.binding, draft.tenant, draft.requester, now, now - cooldown)
        return await self._change(
            StoreOperation(
                lambda records: records.ask(draft, now, most_pending, row, cooldown, claim),
                (claim,) if claim is not None else (),
                needs=Needs((draft.id,), (question,)),
            )
        )

    async def decide(self, approval_id: str, decision: Decision, now: float, entry: Entry) -> Approval | None:
        row, needs = entry_row(entry), Needs((approval_id,))
        decided = await self._change(
            StoreOperation(lambda records: records.decide(approval_id, decision, now, row), needs=needs)
        )
        if decided is not None:
            self._waiters.wake([approval_id])
        return decided

    async def decided(self, approval_id: str, timeout: float) -> Approval | None:
        return await self._waiters.until(
            approval_id, self.approval, lambda approval: approval is None or approval.pending_until is None, timeout
        )

    async def add_key(self, record: KeyRecord, entry: Entry) -> None:
        row, needs = entry_row(entry), Needs(keys=(record.digest,))
        await self._change(StoreOperation(lambda records: add_key(records, record, row), needs=needs))

    async def revoke_key(self, digest: str, now: float, entry: Entry) -> KeyRecord | None:
        row, needs = entry_row(entry), Needs(keys=(digest,))
        return await self._change(StoreOperation(lambda records: revoke_key(records, digest, now, row), needs=needs))

    async def put_document(
        self, draft: Document, now: float, *, expected: int | None = None, entry: Entry | None = None
    ) -> Document | None:
        rows, needs = entry_rows([entry] if entry is not None else []), Needs(documents=(draft.name,))
        return await self._change(
            StoreOperation(lambda records: records.put_document(draft, now, expected, rows), needs=needs)
        )

    async def delete_document(
        self, kind: str, id: str, now: float, *, expected: int | None = None, entry: Entry | None = None
    ) -> Document | None:
        rows, needs = entry_rows([entry] if entry is not None else []), Needs(documents=((kind, id),))
        return await self._change(
            StoreOperation(lambda records: records.delete_document((kind, id), now, expected, rows), needs=needs)
        )

    async def erase(self, index: int, fields: Sequence[str], entry: Entry) -> None:
        row, names, needs = entry_row(entry), tuple(fields), Needs(places=(index,))
        await self._change(StoreOperation(lambda records: erase(records, index, names, row), needs=needs))

    async def flush(self) -> None:
        await self._change(no_change())


def _admission(quotas: Quotas, now: float) -> StoreOperation[None]:
    return StoreOperation(lambda records: records.admit(quotas, now), needs=quota_needs(quotas))


_LETTERS = "!#$&'()*+,/:;<=>?@[]^_`{|}~-."


def entry_row(entry: Entry) -> Sealed:
    """Encode an entry as soon as it is handed over, so that later changes cannot reach it and a bad entry fails
    alone.
    """
    at = round(entry.at * 1000)
    try:
        return seal(entry.kind, at, entry.facts, entry.values, randomness)
    except BadEntry:
        return _seal_encoded(entry, at)


def _seal_encoded(entry: Entry, at: int) -> Sealed:
    """Encode an entry whose facts hold characters that a leaf may not contain, such as a server's unusual tool
    names.
    """
    facts = {name: _percent_encode(value) for name, value in entry.facts.items()}
    try:
        return seal(entry.kind, at, facts, entry.values, randomness)
    except (BadEntry, TypeError) as error:
        raise StoreError(f"The audit entry cannot be encoded: {error}.") from error


def _percent_encode(value: Any) -> Any:
    """Percent-encode all but simple ASCII characters of a text."""
    return quote(value, safe=_LETTERS, errors="surrogatepass")[:512] if isinstance(value, str) else value


def entry_rows(entries: Sequence[Entry]) -> list[Sealed]:
    return [entry_row(entry) for entry in entries]


def claim_row(record: ClaimRecord) -> tuple[Any, ...]:
    """All fields in order, with the state's name and the packed charges."""
    return (*record[:7], record.state._value_, *record[8:15], _charges_column(record) if record.charges else None)


def start_row(record: ClaimRecord) -> tuple[Any, ...]:
    """A claim that has not ended yet."""
    return (*record[:7], record.state._value_, *record[8:12], _charges_column(record) if record.charges else None)


def move_row(record: ClaimRecord, before: ClaimRecord) -> tuple[Any, ...]:
    """The fields that change between a claim's start and its end, then its id and the epoch and state it must have."""
    return (
        record.state._value_,
        record.epoch,
        record.lease_until,
        record.valid_until,
        record.settled_at,
        record.result,
        _charges_column(record) if record.charges else None,
        record.id,
        before.epoch,
        before.state._value_,
    )


def _charges_column(record: ClaimRecord) -> bytes:
    return to_json([[name, str(amount)] for name, amount in record.charges])


def claim_of(row: Sequence[Any]) -> ClaimRecord:
    charges = tuple((name, Decimal(amount)) for name, amount in orjson.loads(row[15])) if row[15] else ()
    return ClaimRecord._make((*row[:7], State(row[7]), *row[8:15], charges))


def approval_row(one: Approval) -> tuple[Any, ...]:
    asked = one.id, one.binding, one.tenant, one.requester, one.tool, one.by, one.quorum, one.text, to_json(one.facts)
    limits = one.asked_at, one.expires_at, one.lasts, one.uses, one.used
    details = None if one.details is None else to_json(one.details)
    until = one.answers_until, one.pending_until, one.declined_at
    return (*asked, *limits, decisions_column(one), details, one.claim, *until)


def decisions_column(approval: Approval) -> bytes:
    return to_json([decision.as_json() for decision in approval.decisions])


def approval_of(row: Sequence[Any]) -> Approval:
    values = list(row)
    values[8] = orjson.loads(row[8])
    values[14] = tuple(Decision(**decision) for decision in orjson.loads(row[14]))
    values[15] = None if row[15] is None else orjson.loads(row[15])
    return Approval(*values)


def to_json(value: Any) -> bytes:
    """Encode as JSON with sorted names."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, RecursionError) as error:
        raise StoreError(f"A value to be stored is not plain JSON: {error}.") from error
