"""Claims the right to run a call once: intent, approval and budget in one write."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from math import ceil
from typing import NamedTuple

from assent.core.approval import Approval
from assent.core.audit import Entry, call_facts, call_values
from assent.core.call import Call
from assent.core.claims import ClaimRecord, State, claim_name, derives_key
from assent.core.dues import Budget, Dues, dues_of
from assent.core.outcome import Refusal
from assent.errors import StoreError
from assent.pipeline.journal import Journal
from assent.ports import ApprovalGone, OverBudget, Ports, RateLimited


class Claim(NamedTuple):
    """The right to run a call once. Only this file makes one, and `execute` takes nothing else."""

    call: Call
    id: str | None = None
    epoch: int = 0
    upstream_key: str | None = None
    begun: bool = False
    """Whether it was run before and may have had its effect then: that this run did nothing does not say otherwise."""


async def claim(call: Call, approval: Approval | None, price: str | None, ports: Ports, journal: Journal) -> Claim:
    """Write down the intent, use up the approval and pay the dues in one stroke; a read that nobody was asked about
    only pays.

    Raises Taken where another call with the same key was faster.
    """
    if approval is None and call.is_read:
        await admit(call, price, ports, ports.budgets, journal)
        journal.passed("claim", "a read is written down with its answer")
        return Claim(call)
    now = ports.now()
    draft = _draft(call, ports, now, fresh=call.is_read or _overlooked(call, journal))
    facts = {**call_facts(call), "claim": ports.blind(draft.id)}
    if approval is not None:
        facts["approval"] = approval.id
    if journal.would:
        facts["would"] = list(journal.would)
    entry = Entry("intent", now, facts, call_values(call))
    try:
        dues = dues_of(call, ports.limits, ports.budgets, price, now)
        record = await _claimed(draft, entry, approval, dues, ports, journal)
    except ApprovalGone:
        raise Refusal("claim.approval_used") from None
    except StoreError:
        raise Refusal("claim.unavailable") from None
    journal.started = True
    journal.passed("claim", "claim %.12s, epoch %d", record.id, record.epoch)
    return reclaimed(call, record, ports)


async def _claimed(
    draft: ClaimRecord, entry: Entry, approval: Approval | None, dues: Dues, ports: Ports, journal: Journal
) -> ClaimRecord:
    used = approval.id if approval else None
    try:
        return await ports.store.claim(draft, entry, used, entry.at, dues)
    except (RateLimited, OverBudget) as owing:
        refusal = unpaid(owing)
        journal.object("claim", refusal)
    entry = replace(entry, facts={**entry.facts, "would": list(journal.would)})
    return await ports.store.claim(draft, entry, used, entry.at)


async def admit(call: Call, price: str | None, ports: Ports, budgets: tuple[Budget, ...], journal: Journal) -> None:
    """Pay the dues of what makes no claim. One that no line speaks of costs the store nothing."""
    now = ports.now()
    dues = dues_of(call, ports.limits, budgets, price, now)
    if not dues:
        return
    try:
        await ports.store.admit(dues, now)
    except (RateLimited, OverBudget) as owing:
        journal.object("claim", unpaid(owing))


def unpaid(owing: RateLimited | OverBudget) -> Refusal:
    """The refusal of a call that cannot pay its dues: when to come back, or what is left."""
    if isinstance(owing, RateLimited):
        return Refusal("claim.rate_limited", retry_after_ms=max(1, ceil(owing.seconds * 1000)))
    return Refusal("claim.budget_exceeded", limit=str(owing.limit), left=str(max(owing.left, Decimal(0))))


def reclaimed(call: Call, record: ClaimRecord, ports: Ports, *, begun: bool = False) -> Claim:
    """The claim that a started record gives; the key for the upstream only where it is to be passed on.

    What a natural name or a derived key stands for is made anew once it is no longer valid, under a key of its own.
    """
    contract = call.tool.contract
    if contract.idempotency.forward is None:
        return Claim(call, record.id, record.epoch, None, begun)
    named = contract.natural is not None or derives_key(call)
    name = f"{record.id} {record.created_at!r}" if named else record.id
    return Claim(call, record.id, record.epoch, ports.derive_key(name), begun)


def _overlooked(call: Call, journal: Journal) -> bool:
    """Whether `recall` would have stopped this call: when only observing, it then runs under a name of its own."""
    unasked = journal.observing and derives_key(call)
    return unasked or any(code.startswith("recall.") for code in journal.would)


def _draft(call: Call, ports: Ports, now: float, *, fresh: bool) -> ClaimRecord:
    contract, principal = call.tool.contract, call.principal
    name = None if fresh else claim_name(call)
    return ClaimRecord(
        name or ports.new_id(),
        principal.tenant,
        principal.id,
        contract.name,
        call.key,
        call.fingerprint,
        contract.digest,
        State.STARTED,
        1,
        now + ports.lease,
        now,
        now + (contract.idempotency.retention or ports.retention),
    )
