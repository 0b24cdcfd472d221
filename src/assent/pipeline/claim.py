"""Stage `claim`: reserves the right to run a call once. Intent, approval and quotas are one write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from assent.core.approval import Approval
from assent.core.audit import Entry, call_facts, call_values
from assent.core.call import Call
from assent.core.claims import ClaimRecord, State, claim_name
from assent.core.guard_finding import finding_facts, finding_values
from assent.core.outcome import Refusal
from assent.core.principal import Rights
from assent.core.quotas import NOTHING, Quotas, SpendBudget, quotas_of
from assent.core.tool import Tool
from assent.errors import StoreError
from assent.pipeline import confirm
from assent.pipeline.guard import guards_of
from assent.pipeline.record import CallTrace
from assent.pipeline.remedies import quota_refusal
from assent.ports import ApprovalGone, OverBudget, Ports, RateLimited, Rules


class Claim(NamedTuple):
    """The right to run a call once. Only this file makes one, and `execute` accepts nothing else."""

    call: Call
    id: str | None = None
    epoch: int = 0
    upstream_key: str | None = None
    ran_before: bool = False
    """Whether it ran before and may have had its effect then, even if this run did nothing."""
    facts: Mapping[str, object] | None = None
    """The facts of all entries about it, if its intent was written just now."""


def applies(tool: Tool, caller: Rights, rules: Rules) -> bool:
    """If the tool has effects, or if calls of it are counted or approved. A read that is neither is `unclaimed`."""
    counted = rules.counts(tool) or any(rule.counts for rule in guards_of(tool, rules)["arguments"])
    return tool.contract.side_effect != "read" or counted or confirm.applies(tool, caller, rules)


def unclaimed(call: Call) -> Claim:
    """The right to run a read to which this stage does not apply."""
    if not call.tool.is_read:
        raise RuntimeError(f"{call.tool.name} has effects and needs a claim")
    return Claim(call)


async def claim(call: Call, approval: Approval | None, price: str | None, ports: Ports, trace: CallTrace) -> Claim:
    """Record the intent, consume the approval and reserve the quotas in one write. A read without an approval only
    takes quotas.

    Raises ClaimExists if another call with the same key was faster.
    """
    if approval is None and call.tool.is_read:
        await admit(call, price, ports, ports.rules.budgets, trace)
        trace.note_pass("claim", "a read is recorded with its answer")
        return Claim(call)
    now = ports.now()
    draft = _draft(call, ports, now, fresh=call.tool.is_read or _recall_ignored(call, trace))
    facts = common = call_facts(call)
    facts["claim"] = ports.keyed_hash(draft.id)
    if approval is not None or trace.would:
        facts = facts.copy()
    if approval is not None:
        facts["approval"] = approval.id
    if trace.would:
        facts["would"] = list(trace.would)
    values = call_values(call)
    if trace.guards:
        facts, values = {**facts, **finding_facts(trace.guards)}, {**values, **finding_values(trace.guards)}
    entry = Entry("intent", now, facts, values)
    used = approval.id if approval is not None else None
    try:
        quotas = _quotas(call, price, ports.rules.budgets, now, ports, trace)
        try:
            record = await ports.store.claim(draft, entry, used, now, quotas)
        except (RateLimited, OverBudget) as exceeded:
            trace.refuse_or_note("claim", quota_refusal(exceeded))
            noted = entry._replace(facts={**entry.facts, "would": list(trace.would)})
            record = await ports.store.claim(draft, noted, used, now)
    except ApprovalGone:
        raise Refusal("claim.approval_used") from None
    except StoreError:
        raise Refusal("claim.unavailable") from None
    trace.started = True
    trace.note_pass("claim", "claim %.12s, epoch %d", record.id, record.epoch)
    return claim_from_record(call, record, ports, facts=common if record.id == draft.id else None)


async def admit(
    call: Call, price: str | None, ports: Ports, budgets: tuple[SpendBudget, ...], trace: CallTrace
) -> None:
    """Take the quotas of a call that makes no claim. If none applies, the store is not used."""
    now = ports.now()
    quotas = _quotas(call, price, budgets, now, ports, trace)
    if not quotas:
        return
    try:
        await ports.store.admit(quotas, now)
    except (RateLimited, OverBudget) as exceeded:
        trace.refuse_or_note("claim", quota_refusal(exceeded))


def _quotas(
    call: Call, price: str | None, budgets: tuple[SpendBudget, ...], now: float, ports: Ports, trace: CallTrace
) -> Quotas:
    """The quotas of a call together with what guards count."""
    limits = ports.rules.limits
    quotas = quotas_of(call, limits, budgets, price, now) if limits or budgets else NOTHING
    return replace(quotas, rates=(*quotas.rates, *trace.rates)) if trace.rates else quotas


def claim_from_record(
    call: Call,
    record: ClaimRecord,
    ports: Ports,
    *,
    ran_before: bool = False,
    facts: Mapping[str, object] | None = None,
) -> Claim:
    """The claim of a started record, with a key for the upstream if the contract forwards one.

    A natural or derived key is reused once its result is no longer valid, so each use gets its own upstream key.
    """
    tool = call.tool
    if tool.key_forward is None:
        return Claim(call, record.id, record.epoch, None, ran_before, facts)
    named = tool.natural is not None or (tool.derives_key and call.key is None)
    name = f"{record.id} {record.created_at!r}" if named else record.id
    return Claim(call, record.id, record.epoch, ports.derive_key(name), ran_before, facts)


def _recall_ignored(call: Call, trace: CallTrace) -> bool:
    """Whether `recall` would have stopped this call. In observe mode it then runs under a claim id of its own."""
    derived = trace.observing and call.tool.derives_key and call.key is None
    return derived or (bool(trace.would) and any(code.startswith("recall.") for code in trace.would))


def _draft(call: Call, ports: Ports, now: float, *, fresh: bool) -> ClaimRecord:
    tool, principal = call.tool, call.principal
    name = None if fresh else claim_name(call)
    return ClaimRecord(
        name or ports.new_id(),
        principal.tenant,
        principal.id,
        tool.name,
        call.key,
        call.fingerprint,
        tool.contract.digest,
        State.STARTED,
        1,
        now + ports.lease,
        now,
        now + (tool.retention or ports.rules.retention),
    )
