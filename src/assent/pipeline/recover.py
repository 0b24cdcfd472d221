"""Recovers calls whose end is unknown."""

from __future__ import annotations

from assent.contract.pointers import MISSING, resolve
from assent.core.audit import Entry, call_facts, call_values
from assent.core.call import Call
from assent.core.claims import ClaimRecord, State
from assent.core.outcome import Answer, Refusal
from assent.pipeline.claim import Claim, claim_from_record
from assent.pipeline.execute import execute, keep
from assent.pipeline.places import doubt_refusal
from assent.pipeline.trace import CallTrace
from assent.ports import Ports


async def recover(call: Call, record: ClaimRecord, ports: Ports, trace: CallTrace) -> Answer | None:
    """Run again, look up or refuse, as the contract's `recovery` says. With `none` a call is never run again."""
    recovery = call.tool.contract.idempotency.recovery
    if recovery == "none":
        await _doubt(call, record, ports, trace)
        trace.refuse_or_note("recall", doubt_refusal("recall.in_doubt", ports))
        return None
    done = await _look_up(call, ports) if recovery == "reconcile" else "not_done"
    if done == "unknown":
        await _doubt(call, record, ports, trace)
        trace.refuse_or_note("recall", doubt_refusal("recall.in_doubt", ports))
        return None
    trace.handed_over = True
    return await ports.work.shield(_take_over_and_finish(call, record, done, ports, trace))


async def _take_over_and_finish(
    call: Call, record: ClaimRecord, done: str | dict[str, object], ports: Ports, trace: CallTrace
) -> Answer:
    """Take over a claim in doubt and bring it to its end, even if the caller disconnects."""
    recovery = call.tool.contract.idempotency.recovery
    claim = await _take_over(call, record.id, record.epoch, recovery, ports, trace)
    trace.passed("recall", f"in doubt, taken over under recovery {recovery}: {done}")
    return await (keep(claim, done, ports, trace) if isinstance(done, dict) else execute(claim, ports, trace))


async def _take_over(call: Call, claim_id: str, epoch: int, why: str, ports: Ports, trace: CallTrace) -> Claim:
    now = ports.now()
    entry = _intent_again(call, ports.keyed_hash(claim_id), why, epoch, now)
    taken = await ports.store.retake(claim_id, epoch, now + ports.lease, now, entry)
    if taken is None:
        raise Refusal("recall.in_flight", retry_after_ms=1000)
    trace.started = True
    # The look-up has already told what was done.
    return claim_from_record(call, taken, ports, ran_before=why != "reconcile")


def _intent_again(call: Call, name: str, why: str, epoch: int, now: float) -> Entry:
    facts = {**call_facts(call), "claim": name, "again": why, "epoch": epoch + 1}
    return Entry("intent", now, facts, call_values(call))


async def _doubt(call: Call, record: ClaimRecord, ports: Ports, trace: CallTrace) -> None:
    """Record the doubt before the caller learns of it, so that a late owner can no longer settle the claim."""
    if record.state is State.IN_DOUBT or trace.observing:
        return
    now = ports.now()
    facts = {
        **call_facts(call),
        "claim": ports.keyed_hash(record.id),
        "state": State.IN_DOUBT.value,
        "epoch": record.epoch + 1,
    }
    if await ports.store.mark_in_doubt(record.id, record.epoch, now, Entry("settlement", now, facts)) is None:
        raise Refusal("recall.in_flight", retry_after_ms=1000)


def require_same_call(call: Call, record: ClaimRecord | None) -> ClaimRecord:
    """The claim that a resumed call refers to; refused unless it belongs to exactly this call."""
    if (
        call.dry_run
        or record is None
        or (record.tenant, record.principal, record.tool, record.fingerprint)
        != (
            call.principal.tenant,
            call.principal.id,
            call.tool.name,
            call.fingerprint,
        )
    ):
        raise Refusal("recall.key_mismatch")
    return record


async def resume(call: Call, record: ClaimRecord, epoch: int, ports: Ports, trace: CallTrace) -> Answer:
    """Continue a claim that waited for the answer to the tool's own question."""
    trace.handed_over = True
    return await ports.work.shield(_resume_claim(call, record, epoch, ports, trace))


async def _resume_claim(call: Call, record: ClaimRecord, epoch: int, ports: Ports, trace: CallTrace) -> Answer:
    claim = await _take_over(call, record.id, epoch, "resumed", ports, trace)
    trace.passed("recall", "the tool's own question was answered")
    return await execute(claim, ports, trace)


async def _look_up(call: Call, ports: Ports) -> str | dict[str, object]:
    """Look up what was done: `not_done`, `unknown`, or the result."""
    lookup = call.tool.contract.idempotency.lookup
    assert lookup is not None
    arguments = {name: call.arguments[name] for name in lookup.by if name in call.arguments}
    if lookup.key_argument and call.key is not None:
        arguments[lookup.key_argument] = call.key
    try:
        found = await ports.upstream.read(lookup.tool, arguments, call)
    except Exception:
        return "unknown"
    if found.get("isError"):
        return "unknown"
    structured = found.get("structuredContent")
    status = resolve(structured, lookup.status)
    if status == "done":
        result = resolve(structured, lookup.result) if lookup.result else structured
        if result is MISSING:
            return "unknown"
        return {"structuredContent": result, "content": []} if lookup.result else found
    return "not_done" if status == "not_done" else "unknown"
