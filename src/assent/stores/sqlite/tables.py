"""What does each operation do inside its transaction?

Looks come before changes in every operation: one that raises has changed nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from assent.core.approval import Approval, ApprovalState, Decision
from assent.core.claims import ClaimRecord, Settlement, State
from assent.ports import ApprovalGone, Logged, Rehearsal, Taken, TooManyPending
from assent.stores.rows import (
    EntryRow,
    approval_of,
    approval_row,
    claim_of,
    claim_row,
    decisions_column,
    logged,
)
from assent.stores.statements import statements

_SQL = statements("sqlite")


class Tables:
    """The tables as one connection sees them. Rules are those of the records; SQL only finds and keeps."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def recall(self, claim_id: str) -> ClaimRecord | None:
        row = self._row("recall", (claim_id,))
        return claim_of(row) if row else None

    def claim(self, draft: ClaimRecord, entry: EntryRow, approval: str | None, now: float) -> ClaimRecord:
        standing = self.recall(draft.id)
        if standing is not None and not standing.is_stale(now):
            raise Taken(standing)
        if approval is not None:
            self._consume(approval, now)
        if standing is not None:
            self._change("drop_claim", (standing.id, standing.epoch))
            draft = replace(draft, epoch=standing.epoch + 1)
        self._change("insert_claim", claim_row(draft))
        self.append([entry])
        return draft

    def _consume(self, approval_id: str, now: float) -> None:
        approval = self.approval(approval_id)
        if approval is None or approval.state_at(now) is not ApprovalState.APPROVED:
            raise ApprovalGone(approval_id)
        self._answer(replace(approval, used=approval.used + 1))

    def retake(self, claim_id: str, epoch: int, lease_until: float, now: float, entry: EntryRow) -> ClaimRecord | None:
        values = {"id": claim_id, "epoch": epoch, "lease_until": lease_until, "now": now}
        if not self._change("retake", values):
            return None
        self.append([entry])
        return self.recall(claim_id)

    def settle(self, claim_id: str, epoch: int, settlement: Settlement, entries: Sequence[EntryRow]) -> bool:
        values = {
            "id": claim_id,
            "epoch": epoch,
            "state": settlement.state.value,
            "at": settlement.at,
            "result": settlement.result,
            "valid_until": settlement.valid_until,
            "lease_until": settlement.lease_until,
        }
        if not self._change("settle", values):
            return False
        self.append(entries)
        return True

    def extend(self, leases: Iterable[tuple[str, int]], lease_until: float) -> None:
        values = [(lease_until, claim_id, epoch) for claim_id, epoch in leases]
        self._connection.executemany(_SQL["extend"], values)

    def claims(self, states: Sequence[State], limit: int) -> list[ClaimRecord]:
        wanted = list(dict.fromkeys(states)) or list(State)
        wanted += wanted[:1] * (len(State) - len(wanted))
        return [claim_of(row) for row in self._rows("claims", (*wanted, limit))]

    def ask(self, draft: Approval, now: float, most_pending: int, entry: EntryRow) -> Approval:
        standing = self.approval_for(draft.binding, now)
        if standing is not None:
            return standing
        if self._rows("pending", (draft.tenant, draft.requester, now))[0][0] >= most_pending:
            raise TooManyPending(draft.requester)
        self._change("insert_approval", approval_row(draft))
        self.append([entry])
        return draft

    def decide(self, approval_id: str, decision: Decision, now: float, entry: EntryRow) -> Approval | None:
        approval = self.approval(approval_id)
        if approval is None or approval.state_at(now) is not ApprovalState.PENDING:
            return None
        if any(earlier.person == decision.person for earlier in approval.decisions):
            return None
        decided = approval.with_decision(decision)
        self._answer(decided)
        self.append([entry])
        return decided

    def _answer(self, approval: Approval) -> None:
        values = {
            "id": approval.id,
            "used": approval.used,
            "decisions": decisions_column(approval),
            "answers_until": approval.answers_until,
            "pending_until": approval.pending_until,
        }
        self._change("answer_approval", values)

    def approval(self, approval_id: str) -> Approval | None:
        row = self._row("approval", (approval_id,))
        return approval_of(row) if row else None

    def approval_for(self, binding: str, now: float) -> Approval | None:
        row = self._row("approval_for", (binding, now))
        return approval_of(row) if row else None

    def approvals(self, tenant: str | None, limit: int) -> list[Approval]:
        return [approval_of(row) for row in self._rows("approvals", (tenant, limit))]

    def remember(self, rehearsal: Rehearsal, entry: EntryRow) -> None:
        self._change("remember", (rehearsal.digest, rehearsal.preview, rehearsal.at))
        self.append([entry])

    def rehearsed(self, digest: str) -> Rehearsal | None:
        row = self._row("rehearsed", (digest,))
        return Rehearsal(*row) if row else None

    def append(self, rows: Iterable[EntryRow]) -> None:
        """Give entries the next places in the log."""
        self._connection.executemany(_SQL["append"], rows)

    def entries(self, after: int, limit: int) -> list[Logged]:
        return [logged(*row) for row in self._rows("entries", (after, limit))]

    def _change(self, name: str, values: Any) -> int:
        return self._connection.execute(_SQL[name], values).rowcount

    def _row(self, name: str, values: Sequence[Any]) -> Any:
        rows = self._rows(name, values)
        return rows[0] if rows else None

    def _rows(self, name: str, values: Sequence[Any]) -> list[Any]:
        """All rows at once: a half-read statement would keep its snapshot, and the log from shrinking."""
        return self._connection.execute(_SQL[name], values).fetchall()
