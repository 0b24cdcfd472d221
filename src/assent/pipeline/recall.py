"""Stage `recall`: looks a call up by its idempotency key: answered before, still running, in doubt, or new.

A call whose end is unknown is recovered as its contract says. See ADR 0056.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import orjson

from assent.contract.pointers import MISSING, resolve
from assent.core.audit import Entry, call_facts, call_values
from assent.core.call import Call
from assent.core.claims import FINISHED, ClaimRecord, State, claim_name
from assent.core.one_time_secrets import ALREADY_DELIVERED
from assent.core.outcome import Answer, Refusal
from assent.core.problems import key_remedy
from assent.pipeline.claim import Claim, claim_from_record
from assent.pipeline.execute import execute, keep
from assent.pipeline.guard import guard_result_in_time, remember
from assent.pipeline.record import CallTrace, always
from assent.pipeline.remedies import doubt_refusal
from assent.ports import Ports

RETRY_AFTER_MS = 1000


applies = always  # A call of any tool may continue one whose own question was answered.


def recall(call: Call, ports: Ports, trace: CallTrace) -> Coroutine[Any, Any, Answer | None] | None:
    """Look up what became of an earlier call with the same key; None if there is nothing to look up. A retry never
    asks a person twice.
    """
    if call.resume is None and (call.tool.is_read or call.dry_run):
        trace.note_pass("recall", "nothing to recall for a read or a dry run")
        return None
    if call.resume is None and call.key is None and call.tool.needs_key:
        trace.refuse_or_note("recall", _key_missing(call.tool.contract.idempotency.argument))
    name = call.resume.claim if call.resume else claim_name(call)
    ignored = trace.observing and call.resume is None and call.tool.derives_key and call.key is None
    if name is None or ignored:
        trace.note_pass("recall", "no key was sent")
        return None
    return _look_up(call, name, ports, trace)


async def _look_up(call: Call, name: str, ports: Ports, trace: CallTrace) -> Answer | None:
    """Return the stored answer, refuse if it is in doubt, or return None to continue."""
    record = await ports.store.claim_by_id(name)
    if call.resume is not None:
        record = require_same_call(call, record)
    if record is not None and record.state_at(ports.now()) is State.STARTED:
        record = await ports.store.wait_until_ended(name, ports.attach)
    return await _judge_record(call, record, ports, trace)


async def await_concurrent_result(call: Call, ports: Ports, trace: CallTrace) -> Answer:
    """Return the answer of another call with the same key that was faster, or refuse if it has none yet."""
    looking = recall(call, ports, trace)
    known = await looking if looking is not None else None
    if known is None:
        raise Refusal("recall.in_flight", retry_after_ms=RETRY_AFTER_MS)
    return known


async def _judge_record(call: Call, record: ClaimRecord | None, ports: Ports, trace: CallTrace) -> Answer | None:
    """What the record of this key means for the call. In observe mode too no call runs twice for one key."""
    now, natural = ports.now(), call.tool.contract.natural is not None
    if record is None or record.is_stale(now):
        trace.note_pass(
            "recall", "never called with this key" if record is None else "the earlier result is no longer valid"
        )
        return None
    if not natural and record.fingerprint != call.fingerprint:
        trace.refuse_or_note("recall", Refusal("recall.key_mismatch"))
        return None
    state = record.state_at(now)
    if record.is_tombstone(now) and state is not State.IN_DOUBT:  # Waiting does not resolve a doubt.
        raise Refusal("recall.expired")
    if state in FINISHED:
        trace.note_pass("recall", f"answered before: {state}")
        return await _replay(call, record, ports, trace)
    if state is State.IN_DOUBT:
        return await recover(call, record, ports, trace)
    if state is State.SUSPENDED and call.resume is not None:
        return await resume(call, record, call.resume.epoch, ports, trace)
    raise Refusal("recall.in_flight", retry_after_ms=RETRY_AFTER_MS)


async def _replay(call: Call, record: ClaimRecord, ports: Ports, trace: CallTrace) -> Answer:
    """The stored result, marked as a replay and masked as guards say now. Refused if it no longer matches its schema
    without the secret.
    """
    result = orjson.loads(record.result or b"{}")
    guarded = await guard_result_in_time(call, result, ports, observing=trace.observing)
    trace.guards += guarded.findings
    if guarded.refusal is not None:
        raise guarded.refusal
    result = guarded.result
    emptied = ALREADY_DELIVERED in result.get("_meta", {})
    if emptied and call.tool.check_output is not None and call.tool.check_output(result.get("structuredContent")):
        raise Refusal("recall.secret_already_delivered")
    kept = remember(call, result, ports)
    return Answer(kept if isinstance(kept, dict) else await kept, replayed=True)


def _key_missing(argument: str | None) -> Refusal:
    """Models only write arguments, so the remedy names the key's argument if the contract has one."""
    if argument is None:
        return Refusal("recall.key_required")
    return Refusal("recall.key_required", remedy=key_remedy(f"as the argument `{argument}`"))


async def recover(call: Call, record: ClaimRecord, ports: Ports, trace: CallTrace) -> Answer:
    """Run again, look up or refuse, as the contract's `recovery` says. With `none` a call is never run again."""
    recovery = call.tool.contract.idempotency.recovery
    if recovery == "none":
        await _doubt(call, record, ports)
        raise doubt_refusal("recall.in_doubt", ports)
    done = await _look_up_outcome(call, ports) if recovery == "reconcile" else "not_done"
    if done == "unknown":
        await _doubt(call, record, ports)
        raise doubt_refusal("recall.in_doubt", ports)
    trace.handed_over = True
    return await ports.work.shield(_take_over_and_finish(call, record, done, ports, trace))


async def _take_over_and_finish(
    call: Call, record: ClaimRecord, done: str | dict[str, object], ports: Ports, trace: CallTrace
) -> Answer:
    """Take over a claim in doubt and bring it to its end, even if the caller disconnects."""
    recovery = call.tool.contract.idempotency.recovery
    claim = await _take_over(call, record.id, record.epoch, recovery, ports, trace)
    trace.note_pass("recall", f"in doubt, taken over under recovery {recovery}: {done}")
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


async def _doubt(call: Call, record: ClaimRecord, ports: Ports) -> None:
    """Record the doubt before the caller learns of it, so that a late owner can no longer settle the claim."""
    if record.state is State.IN_DOUBT:
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
        != (call.principal.tenant, call.principal.id, call.tool.name, call.fingerprint)
    ):
        raise Refusal("recall.key_mismatch")
    return record


async def resume(call: Call, record: ClaimRecord, epoch: int, ports: Ports, trace: CallTrace) -> Answer:
    """Continue a claim that waited for the answer to the tool's own question."""
    trace.handed_over = True
    return await ports.work.shield(_resume_claim(call, record, epoch, ports, trace))


async def _resume_claim(call: Call, record: ClaimRecord, epoch: int, ports: Ports, trace: CallTrace) -> Answer:
    claim = await _take_over(call, record.id, epoch, "resumed", ports, trace)
    trace.note_pass("recall", "the tool's own question was answered")
    return await execute(claim, ports, trace)


async def _look_up_outcome(call: Call, ports: Ports) -> str | dict[str, object]:
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
