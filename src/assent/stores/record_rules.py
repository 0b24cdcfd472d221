"""What each store operation does to records.

The rules are defined here once. The memory store keeps all records in one `Records`. A database loads those that a
batch of operations needs, applies the rules, and writes the changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from assent.audit.leaf import Sealed
from assent.core.api_keys import KeyRecord
from assent.core.approval import Approval, ApprovalState, Decision
from assent.core.claims import ClaimRecord, Settlement, State
from assent.core.document import Document, DocumentName
from assent.core.quotas import Quotas
from assent.errors import StoreError
from assent.ports import ApprovalGone, ClaimExists, CoolingDown, TooManyPending
from assent.stores.quota_reservations import WindowSpend, give_back, reserve

_UNSETTLED = (State.STARTED, State.SUSPENDED, State.IN_DOUBT)
_USABLE = (ApprovalState.PENDING, ApprovalState.APPROVED, ApprovalState.DECLINED)


@dataclass(slots=True, init=False)
class ChangeSet:
    """The names of the records that operations have changed, and the new log entries in order.

    Every commit makes one. `__init__` is written out, here and in `Records`: a generated one takes three times as long.
    """

    claims: set[str]
    """New claims, including those that replace another."""
    replacing: set[str]
    """Those that replace another claim."""
    moved: dict[str, ClaimRecord]
    """Claims whose progress alone has changed (`move_row`), as they were before."""
    approvals: set[str]
    keys: set[str]
    documents: set[DocumentName]
    """Documents that were written, or deleted if no record of that name is left."""
    rates: set[str]
    tallies: set[str]
    places: set[int]
    entries: list[Sealed]

    def __init__(self) -> None:
        self.claims, self.replacing, self.moved = set(), set(), {}
        self.approvals, self.keys, self.documents = set(), set(), set()
        self.rates, self.tallies, self.places, self.entries = set(), set(), set(), []

    @property
    def has_rare(self) -> bool:
        """Whether anything but claims and entries has changed."""
        return bool(self.approvals or self.keys or self.documents or self.rates or self.tallies or self.places)


@dataclass(slots=True, init=False)
class Records:
    """Records by name. Every operation checks before it changes anything: one that raises has changed nothing."""

    claims: dict[str, ClaimRecord]
    approvals: dict[str, Approval]
    keys: dict[str, KeyRecord]
    documents: dict[DocumentName, Document]
    rates: dict[str, float]
    tallies: dict[str, WindowSpend]
    places: dict[int, Sealed]
    """Log entries from which values are erased."""
    changed: ChangeSet

    def __init__(self) -> None:
        self.claims, self.approvals, self.keys, self.documents = {}, {}, {}, {}
        self.rates, self.tallies, self.places, self.changed = {}, {}, {}, ChangeSet()

    def append(self, rows: Iterable[Sealed]) -> None:
        self.changed.entries.extend(rows)

    def claim(self, draft: ClaimRecord, row: Sealed, approval: str | None, now: float, quotas: Quotas) -> ClaimRecord:
        existing = self.claims.get(draft.id)
        if existing is not None and not existing.is_stale(now):
            raise ClaimExists(existing)
        if existing is not None:
            draft = draft._replace(epoch=existing.epoch + 1)
        consumed = self._consume(approval, draft.id, now) if approval is not None else None
        if quotas:
            self.admit(quotas, now)
        if consumed is not None:
            self._put_approval(consumed)
        if quotas.charges:
            draft = draft._replace(charges=tuple({charge.tally: charge.amount for charge in quotas.charges}.items()))
        self._put_claim(draft, replacing=existing is not None)
        self.changed.entries.append(row)
        return draft

    def _consume(self, approval_id: str, claim_id: str, now: float) -> Approval:
        approval = self.approvals.get(approval_id)
        if approval is None or approval.state_at(now) is not ApprovalState.APPROVED:
            raise ApprovalGone(approval_id)
        return replace(approval, used=approval.used + 1, claim=claim_id)

    def admit(self, quotas: Quotas, now: float) -> None:
        rates, tallies = reserve(quotas, self.rates, self.tallies, now)
        self.rates.update(rates)
        self.changed.rates.update(rates)
        self._put_tallies(tallies)

    def retake(self, claim_id: str, epoch: int, lease_until: float, now: float, row: Sealed) -> ClaimRecord | None:
        record = self.claims.get(claim_id)
        if record is None or record.epoch != epoch or record.state_at(now) not in (State.IN_DOUBT, State.SUSPENDED):
            return None
        taken = record._replace(state=State.STARTED, epoch=epoch + 1, lease_until=lease_until, settled_at=None)
        self._move_claim(taken, record)
        self.append([row])
        return taken

    def doubt(self, claim_id: str, epoch: int, now: float, row: Sealed) -> ClaimRecord | None:
        record = self.claims.get(claim_id)
        if record is None or record.epoch != epoch or record.state_at(now) is not State.IN_DOUBT:
            return None
        if record.state is State.IN_DOUBT:
            return record
        doubted = record._replace(state=State.IN_DOUBT, epoch=epoch + 1, settled_at=now)
        self._move_claim(doubted, record)
        self.append([row])
        return doubted

    def settle(self, claim_id: str, epoch: int, settlement: Settlement, rows: Sequence[Sealed]) -> bool:
        record = self.claims.get(claim_id)
        if record is None or record.epoch != epoch or record.state not in _UNSETTLED:
            return False
        released = settlement.state is State.FAILED_NO_EFFECT
        if released:
            self._put_tallies(give_back(record.charges, self.tallies))
        settled = record.settled(settlement)
        self._move_claim(settled._replace(charges=()) if released and record.charges else settled, record)
        self.changed.entries.extend(rows)
        return True

    def extend(self, leases: Sequence[tuple[str, int]], lease_until: float) -> None:
        for claim_id, epoch in leases:
            record = self.claims.get(claim_id)
            if record is not None and record.epoch == epoch and record.state is State.STARTED:
                self._move_claim(record._replace(lease_until=lease_until), record)

    def ask(
        self, draft: Approval, now: float, most_pending: int, row: Sealed, cooldown: float, claim: str | None = None
    ) -> Approval:
        existing = self.approval_for(draft.binding, now)
        if existing is not None:
            return existing
        running = self.claims.get(claim) if claim is not None else None
        if running is not None and not running.is_stale(now):
            raise ClaimExists(running)
        own = [one for one in self.approvals.values() if one.asker == draft.asker]
        if sum(one.state_at(now) is ApprovalState.PENDING for one in own) >= most_pending:
            raise TooManyPending(draft.requester)
        denials = [one.declined_at for one in own if one.tool == draft.tool and one.declined_at is not None]
        if cooldown and denials and now < max(denials) + cooldown:
            raise CoolingDown(min(max(denials) - now, 0) + cooldown)
        if draft.id in self.approvals:
            raise StoreError(f"An approval {draft.id} already exists.")
        self._put_approval(draft)
        self.append([row])
        return draft

    def decide(self, approval_id: str, decision: Decision, now: float, row: Sealed) -> Approval | None:
        approval = self.approvals.get(approval_id)
        reopening = decision.verdict == "reopen"
        wanted = (ApprovalState.DECLINED, ApprovalState.APPROVED) if reopening else (ApprovalState.PENDING,)
        if approval is None or approval.state_at(now) not in wanted:
            return None
        if not reopening and approval.decision_of(decision.person) is not None:
            return None
        decided = approval.with_decision(decision)
        self._put_approval(decided)
        self.append([row])
        return decided

    def approval_for(self, binding: str, now: float) -> Approval | None:
        bound = [one for one in self.approvals.values() if one.binding == binding]
        usable = [one for one in bound if one.state_at(now) in _USABLE]
        return max(usable, key=lambda one: (one.asked_at, one.id), default=None)

    def last_used_approval(self, tenant: str, requester: str, tool: str, before: float) -> Approval | None:
        wanted = (tenant, requester, tool)
        used = (one for one in self.approvals.values() if one.used and (*one.asker, one.tool) == wanted)
        return min(
            (one for one in used if one.asked_at < before), key=lambda one: (-one.asked_at, one.id), default=None
        )

    def put_document(
        self, draft: Document, now: float, expected: int | None, rows: Sequence[Sealed]
    ) -> Document | None:
        version = self._document_version(draft.name, now)
        if expected is not None and expected != version:
            return None
        kept = draft._replace(version=version + 1, updated_at=now)
        self.documents[draft.name] = kept
        self.changed.documents.add(draft.name)
        self.append(rows)
        return kept

    def delete_document(
        self, name: DocumentName, now: float, expected: int | None, rows: Sequence[Sealed]
    ) -> Document | None:
        version = self._document_version(name, now)
        if not version or expected not in (None, version):
            return None
        self.changed.documents.add(name)
        self.append(rows)
        return self.documents.pop(name)

    def _document_version(self, name: DocumentName, now: float) -> int:
        """The stored version; 0 for a document that is absent or has expired."""
        kept = self.documents.get(name)
        return 0 if kept is None or kept.is_expired(now) else kept.version

    def _put_claim(self, record: ClaimRecord, *, replacing: bool) -> None:
        self.claims[record.id] = record
        self.changed.claims.add(record.id)
        if replacing:
            self.changed.replacing.add(record.id)
            self.changed.moved.pop(record.id, None)

    def _move_claim(self, record: ClaimRecord, before: ClaimRecord) -> None:
        self.claims[record.id] = record
        if record.id not in self.changed.claims:
            self.changed.moved.setdefault(record.id, before)

    def _put_tallies(self, tallies: Mapping[str, WindowSpend]) -> None:
        self.tallies.update(tallies)
        self.changed.tallies.update(tallies)

    def _put_approval(self, approval: Approval) -> None:
        self.approvals[approval.id] = approval
        self.changed.approvals.add(approval.id)
