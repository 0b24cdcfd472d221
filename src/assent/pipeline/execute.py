"""Stage `execute`: runs the tool once and stores its result, the second durable write of a call."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import orjson

from assent.contract.pointers import MISSING, resolve
from assent.contract.schema_cost import is_large
from assent.core.audit import Entry, call_facts
from assent.core.call import Resume
from assent.core.claims import NEVER, Settlement, State, derives_key
from assent.core.guard_finding import GuardFinding, finding_facts
from assent.core.outcome import INPUT_REQUIRED, Answer, Ending, Refusal, declared_failure, error_result, problem_in
from assent.core.secrets import without_secrets
from assent.core.timestamps import as_time
from assent.core.tool_events import collecting_events, recorded_events
from assent.errors import StoreError
from assent.pipeline.claim import Claim
from assent.pipeline.guard import GuardedResult, guard_result, require_connection
from assent.pipeline.places import doubt_refusal
from assent.pipeline.trace import CallTrace
from assent.ports import NotReached, NotRun, OutcomeUnknown, Ports, ToolFailed

SUSPENDED_FOR = 600.0


async def execute(claim: Claim, ports: Ports, trace: CallTrace) -> Answer:
    """Run the tool, store its result durably, and only then answer."""
    with ports.work.holding(claim.id, claim.epoch), collecting_events():
        try:
            result = await ports.upstream.run(claim.call, claim.upstream_key)
        except NotReached as unreached:
            if claim.ran_before:
                return await _end_unknown(claim, ports)
            await _end(claim, State.FAILED_NO_EFFECT, None, ports, code="execute.unavailable", forget=True)
            await require_connection(claim.call, ports, unreached.scope)
            raise Refusal("execute.unavailable") from None
        except ToolFailed as failed:
            return await _end_failed(claim, failed, ports, trace)
        except NotRun as refused:
            if claim.ran_before:
                return await _end_unknown(claim, ports, error=refused.error)
            await _end(claim, State.FAILED_NO_EFFECT, None, ports, code="validate.arguments_invalid", forget=True)
            raise refused.error or Refusal("validate.arguments_invalid", str(refused)) from None
        except OutcomeUnknown as lost:
            return await _end_unknown(claim, ports, error=lost.error)
        except Exception:
            return await _end_unknown(claim, ports)
        except asyncio.CancelledError:
            await _end_cancelled(claim, ports)
            raise
        return await keep(claim, result, ports, trace)


async def keep(claim: Claim, result: dict[str, Any], ports: Ports, trace: CallTrace) -> Answer:
    """Settle a claim with the tool's result and return it; if the result cannot be stored, the claim is in doubt."""
    try:
        return await _check_and_settle(claim, result, ports, trace)
    except Ending:
        raise
    except Exception:
        return await _end_unknown(claim, ports)


async def _check_and_settle(claim: Claim, result: dict[str, Any], ports: Ports, trace: CallTrace) -> Answer:
    tool = claim.call.tool
    if result.get("resultType") == INPUT_REQUIRED:
        return await _suspend(claim, result, ports, trace)
    if result.get("isError"):
        return await _end_error_result(claim, _guarded(claim, result, ports, trace), ports, trace)
    if (tool.check_output is not None or ports.guards) and is_large(result):
        await ports.work.turn()
    wrong = tool.check_output(result.get("structuredContent")) if tool.check_output is not None else []
    guarded = _guarded(claim, result, ports, trace)
    if wrong:
        refusal = Refusal("execute.output_invalid", violations=[{"field": f, "reason": r} for f, r in wrong])
        stored = guarded.result if trace.observing else error_result(refusal.problem())
        await _end(claim, State.SUCCEEDED, stored, ports, code=refusal.code, findings=guarded.findings)
        trace.refuse_or_note("execute", refusal)
        return Answer(guarded.result)
    if guarded.refusal is not None:
        await _end_withheld(claim, State.SUCCEEDED, guarded, ports)
    await _end(claim, State.SUCCEEDED, guarded.result, ports, findings=guarded.findings, told=result)
    trace.passed("execute", "succeeded")
    return Answer(guarded.result)


def _guarded(claim: Claim, result: dict[str, Any], ports: Ports, trace: CallTrace) -> GuardedResult:
    """The result as the guards leave it: masked before it is stored or leaves."""
    guarded = guard_result(claim.call, result, ports, observing=trace.observing)
    trace.guards += guarded.findings
    return guarded


async def _end_withheld(claim: Claim, state: State, guarded: GuardedResult, ports: Ports) -> None:
    """Settle a call whose result a guard withholds; a retry gets the same refusal."""
    assert guarded.refusal is not None
    stored = error_result(guarded.refusal.problem())
    await _end(claim, state, stored, ports, code=guarded.refusal.code, findings=guarded.findings)
    raise guarded.refusal


async def _suspend(claim: Claim, result: dict[str, Any], ports: Ports, trace: CallTrace) -> Answer:
    """The tool asks its own question: the claim waits for the answer, and is in doubt if none comes."""
    if claim.id is None:
        guarded = _guarded(claim, result, ports, trace)
        if guarded.refusal is not None:
            raise guarded.refusal
        return Answer(guarded.result)
    now = ports.now()
    settlement = Settlement(State.SUSPENDED, now, lease_until=now + SUSPENDED_FOR)
    entry = Entry(
        "outcome", now, {**call_facts(claim.call), "claim": ports.keyed_hash(claim.id), "state": State.SUSPENDED.value}
    )
    await _settle(claim.id, claim.epoch, settlement, [*_event_entries(claim, ports, now), entry], ports)
    guarded = _guarded(claim, result, ports, trace)
    if guarded.refusal is not None:
        raise guarded.refusal
    trace.passed("execute", "the tool asks its own question")
    return Answer(guarded.result, resume=Resume(claim.id, claim.epoch))


async def _end_failed(claim: Claim, failed: ToolFailed, ports: Ports, trace: CallTrace) -> Answer:
    """Handle a failure under the tool's own code: a declared one, or a violation of the contract."""
    contract = claim.call.tool.contract
    result = declared_failure(contract, failed.code, failed.detail, failed.facts)
    if result is None:
        return await _end_undeclared(claim, failed.code, ports, trace)
    mode = contract.failure_modes[failed.code]
    if mode.outcome == "unknown":
        return await _end_unknown(claim, ports, failed.code)
    undone = mode.outcome == "no_effect" and not (claim.ran_before and contract.idempotency.recovery == "natural")
    state = State.FAILED_NO_EFFECT if undone else State.FAILED
    guarded = _guarded(claim, result, ports, trace)
    if guarded.refusal is not None:
        await _end_withheld(claim, state, guarded, ports)
    await _end(claim, state, guarded.result, ports, code=failed.code, findings=guarded.findings)
    trace.passed("execute", f"failed as declared: {failed.code}")
    return Answer(guarded.result)


async def _end_error_result(claim: Claim, guarded: GuardedResult, ports: Ports, trace: CallTrace) -> Answer:
    """Handle a result with `isError`; if the contract declares failures, its code must be one of them."""
    result, modes = guarded.result, claim.call.tool.contract.failure_modes
    if guarded.refusal is not None:
        await _end_withheld(claim, State.FAILED, guarded, ports)
    problem = problem_in(result)
    code, detail = problem.get("code"), problem.get("detail")
    if isinstance(code, str) and code in modes:
        return await _end_failed(claim, ToolFailed(code, detail if isinstance(detail, str) else ""), ports, trace)
    if modes:
        return await _end_undeclared(claim, code if isinstance(code, str) else "", ports, trace, result)
    await _end(claim, State.FAILED, result, ports, code="execute.failed", findings=guarded.findings)
    trace.passed("execute", "the tool reported an error")
    return Answer(result)


async def _end_undeclared(
    claim: Claim, code: str, ports: Ports, trace: CallTrace, result: dict[str, Any] | None = None
) -> Answer:
    """A violation of the contract. In observe mode the tool's own result is passed on, if there is one."""
    refusal = Refusal("execute.undeclared_failure")
    stored = result if trace.observing and result is not None else error_result(refusal.problem())
    await _end(claim, State.FAILED, stored, ports, code=refusal.code, violation=code[:100])
    if result is None:
        raise refusal
    trace.refuse_or_note("execute", refusal)
    return Answer(result)


async def _end_unknown(claim: Claim, ports: Ports, code: str = "", error: Exception | None = None) -> Answer:
    """The outcome is unknown. A read may simply be repeated; any other call is in doubt."""
    if claim.call.is_read:
        await _end(claim, State.FAILED, None, ports, code=code or "execute.failed")
        raise error or Refusal("execute.failed")
    await _end(claim, State.IN_DOUBT, None, ports, code=code or "execute.in_doubt")
    raise doubt_refusal("execute.in_doubt", ports)


async def _end_cancelled(claim: Claim, ports: Ports) -> None:
    """The task is cancelled while the tool runs: mark the claim as in doubt now."""
    with suppress(Refusal):
        await _end_unknown(claim, ports)


async def _end(
    claim: Claim,
    state: State,
    result: dict[str, Any] | None,
    ports: Ports,
    *,
    code: str = "",
    violation: str | None = None,
    forget: bool = False,
    findings: Sequence[GuardFinding] = (),
    told: dict[str, Any] | None = None,
) -> None:
    """Settle the claim: the second durable write. If it fails, or another process holds the claim, the end is in
    doubt.

    The result of a read is not stored, because it is never replayed. `told` is the result before it was masked, which
    says how long it is valid.
    """
    call, now = claim.call, ports.now()
    entries = _event_entries(claim, ports, now)
    if claim.id is None:
        for event in entries:
            ports.store.append(event)
        return
    name = ports.keyed_hash(claim.id)
    facts = call_facts(call)
    facts["claim"], facts["state"] = name, state.value
    if code:
        facts["code"] = code
    if findings:
        facts.update(finding_facts(findings))
    entries.append(Entry("outcome", now, facts))
    if violation is not None:
        entries.append(
            Entry("violation", now, {**call_facts(call), "claim": name, "code": code}, {"failure": violation})
        )
    kept = None if result is None or call.is_read else orjson.dumps(without_secrets(call.tool.contract, result))
    settlement = Settlement(
        state, now, kept, _valid_until(claim, told or result, forget=forget, now=now, retention=ports.retention)
    )
    await _settle(claim.id, claim.epoch, settlement, entries, ports)


def _event_entries(claim: Claim, ports: Ports, now: float) -> list[Entry]:
    """The entries of the events that the tool recorded in this run."""
    events = recorded_events()
    if not events:
        return []
    joined = {"claim": ports.keyed_hash(claim.id)} if claim.id is not None else {}
    facts = {**call_facts(claim.call), **joined}
    return [Entry("event", now, {**facts, "event": one.name}, {"event": one.values}) for one in events]


async def _settle(claim_id: str, epoch: int, settlement: Settlement, entries: list[Entry], ports: Ports) -> None:
    try:
        if not await ports.store.settle(claim_id, epoch, settlement, entries):
            raise doubt_refusal("execute.in_doubt", ports)
    except StoreError:
        raise doubt_refusal("execute.in_doubt", ports) from None


def _valid_until(
    claim: Claim, result: dict[str, Any] | None, *, forget: bool, now: float, retention: float
) -> float | None:
    """The time until which the result is valid for its natural or derived key; a failed call is never reused."""
    natural = claim.call.tool.contract.natural
    if forget:
        return NEVER
    if natural is None and not derives_key(claim.call):
        return None
    if result is None or result.get("isError"):
        return NEVER
    if natural is None or natural.until is None:
        return now + (claim.call.tool.contract.idempotency.retention or retention)
    structured = result.get("structuredContent")
    value = resolve(structured, natural.until)
    return as_time(resolve(claim.call.arguments, natural.until) if value is MISSING else value, now)
