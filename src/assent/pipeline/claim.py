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
from assent.core.outcome import Refusal
from assent.core.quotas import Quotas, SpendBudget, quotas_of
from assent.errors import StoreError
from assent.pipeline.trace import CallTrace
from assent.ports import ApprovalGone, OverBudget, Ports, RateLimited


class Claim(NamedTuple):
    """The right to run a call once. Only this file makes one, and `execute` takes nothing else."""

    call: Call
    id: str | None = None
    epoch: int = 0
    upstream_key: str | None = None
    begun: bool = False
    """Whether it was run before and may have had its effect then: that this run did nothing does not say otherwise."""


async def claim(call: Call, approval: Approval | None, price: str | None, ports: Ports, trace: CallTrace) -> Claim:
    """Write down the intent, use up the approval and pay the dues in one stroke; a read that nobody was asked about
    only pays.

    Raises Taken where another call with the same key was faster.
    """
    if approval is None and call.is_read:
        await admit(call, price, ports, ports.budgets, trace)
        trace.passed("claim", "a read is written down with its answer")
        return Claim(call)
    now = ports.now()
    draft = _draft(call, ports, now, fresh=call.is_read or _overlooked(call, trace))
    facts = {**call_facts(call), "claim": ports.keyed_hash(draft.id)}
    if approval is not None:
        facts["approval"] = approval.id
    if trace.would:
        facts["would"] = list(trace.would)
    entry = Entry("intent", now, facts, call_values(call))
    try:
        quotas = quotas_of(call, ports.limits, ports.budgets, price, now)
        record = await _claimed(draft, entry, approval, quotas, ports, trace)
    except ApprovalGone:
        raise Refusal("claim.approval_used") from None
    except StoreError:
        raise Refusal("claim.unavailable") from None
    trace.started = True
    trace.passed("claim", "claim %.12s, epoch %d", record.id, record.epoch)
    return claim_from_record(call, record, ports)


async def _claimed(
    draft: ClaimRecord, entry: Entry, approval: Approval | None, quotas: Quotas, ports: Ports, trace: CallTrace
) -> ClaimRecord:
    used = approval.id if approval else None
    try:
        return await ports.store.claim(draft, entry, used, entry.at, quotas)
    except (RateLimited, OverBudget) as owing:
        refusal = quota_refusal(owing)
        trace.refuse_or_note("claim", refusal)
    entry = replace(entry, facts={**entry.facts, "would": list(trace.would)})
    return await ports.store.claim(draft, entry, used, entry.at)


async def admit(
    call: Call, price: str | None, ports: Ports, budgets: tuple[SpendBudget, ...], trace: CallTrace
) -> None:
    """Pay the dues of what makes no claim. One that no line speaks of costs the store nothing."""
    now = ports.now()
    quotas = quotas_of(call, ports.limits, budgets, price, now)
    if not quotas:
        return
    try:
        await ports.store.admit(quotas, now)
    except (RateLimited, OverBudget) as owing:
        trace.refuse_or_note("claim", quota_refusal(owing))


def quota_refusal(owing: RateLimited | OverBudget) -> Refusal:
    """The refusal of a call that cannot pay its dues: when to come back, or what is left."""
    if isinstance(owing, RateLimited):
        return Refusal("claim.rate_limited", retry_after_ms=max(1, ceil(owing.seconds * 1000)))
    return Refusal("claim.budget_exceeded", limit=str(owing.limit), left=str(max(owing.left, Decimal(0))))


def claim_from_record(call: Call, record: ClaimRecord, ports: Ports, *, begun: bool = False) -> Claim:
    """The claim that a started record gives; the key for the upstream only where it is to be passed on.

    What a natural name or a derived key stands for is made anew once it is no longer valid, under a key of its own.
    """
    contract = call.tool.contract
    if contract.idempotency.forward is None:
        return Claim(call, record.id, record.epoch, None, begun)
    named = contract.natural is not None or derives_key(call)
    name = f"{record.id} {record.created_at!r}" if named else record.id
    return Claim(call, record.id, record.epoch, ports.derive_key(name), begun)


def _overlooked(call: Call, trace: CallTrace) -> bool:
    """Whether `recall` would have stopped this call: when only observing, it then runs under a name of its own."""
    unasked = trace.observing and derives_key(call)
    return unasked or any(code.startswith("recall.") for code in trace.would)


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
