"""What may be done about a call whose end is not known?"""

from __future__ import annotations

from assent.contract.pointers import MISSING, resolve
from assent.core.audit import Entry, call_facts, call_values
from assent.core.call import Call, Resume
from assent.core.claims import ClaimRecord, State
from assent.core.outcome import Answer, Refusal
from assent.pipeline.claim import reclaimed
from assent.pipeline.execute import execute, keep
from assent.pipeline.journal import Journal
from assent.ports import Lost, Ports, ToolFailed, Unreached


async def recover(call: Call, record: ClaimRecord, ports: Ports, journal: Journal) -> Answer | None:
    """Re-drive, look up or refuse, as the contract's `recovery` says. `none` is never run again."""
    recovery = call.tool.contract.idempotency.recovery
    if recovery == "none":
        await _doubt(call, record, ports)
        journal.object("recall", Refusal("recall.in_doubt"))
        return None
    done = await _look_up(call, ports) if recovery == "reconcile" else "not_done"
    if done == "unknown":
        await _doubt(call, record, ports)
        raise Refusal("recall.in_doubt")
    now = ports.now()
    entry = Entry("intent", now, {**call_facts(call), "again": recovery, "epoch": record.epoch + 1}, call_values(call))
    taken = await ports.store.retake(record.id, record.epoch, now + ports.lease, now, entry)
    if taken is None:
        raise Refusal("recall.in_flight", retry_after_ms=1000)
    journal.passed("recall", f"in doubt, taken over under recovery {recovery}: {done}")
    claim = reclaimed(call, taken, ports)
    if isinstance(done, dict):
        return await keep(claim, done, ports, journal)
    journal.started = True
    return await ports.work.shield(execute(claim, ports, journal))


async def _doubt(call: Call, record: ClaimRecord, ports: Ports) -> None:
    """Write down what the caller is about to be told: an owner who comes back late can no longer say otherwise."""
    if record.state is State.IN_DOUBT:
        return
    now = ports.now()
    facts = {**call_facts(call), "claim": record.id, "state": State.IN_DOUBT.value, "epoch": record.epoch + 1}
    if await ports.store.doubt(record.id, record.epoch, now, Entry("settlement", now, facts)) is None:
        raise Refusal("recall.in_flight", retry_after_ms=1000)


async def resume(call: Call, asked: Resume, ports: Ports, journal: Journal) -> Answer:
    """Go on with a claim that the tool's own question had suspended; the same call, and no other."""
    record, now = await ports.store.recall(asked.claim), ports.now()
    same = record is not None and (record.tenant, record.principal, record.tool, record.fingerprint) == (
        call.principal.tenant,
        call.principal.id,
        call.tool.name,
        call.fingerprint,
    )
    if record is None or not same or record.state_at(now) is not State.SUSPENDED:
        raise Refusal("recall.in_doubt" if same else "recall.key_mismatch")
    entry = Entry("intent", now, {**call_facts(call), "again": "resumed", "epoch": asked.epoch + 1}, call_values(call))
    taken = await ports.store.retake(record.id, asked.epoch, now + ports.lease, now, entry)
    if taken is None:
        raise Refusal("recall.in_flight", retry_after_ms=1000)
    journal.started = True
    journal.passed("recall", "the tool's own question was answered")
    claim = reclaimed(call, taken, ports)
    return await ports.work.shield(execute(claim, ports, journal))


async def _look_up(call: Call, ports: Ports) -> str | dict[str, object]:
    """`not_done`, `unknown`, or the result of what was done."""
    lookup = call.tool.contract.idempotency.lookup
    assert lookup is not None
    arguments = {name: call.arguments[name] for name in lookup.by if name in call.arguments}
    if lookup.key_argument and call.key is not None:
        arguments[lookup.key_argument] = call.key
    try:
        found = await ports.upstream.read(lookup.tool, arguments, call)
    except (Unreached, Lost, ToolFailed):
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
