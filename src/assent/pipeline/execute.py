"""Stage `execute`: runs the tool once and stores its result, the second durable write of a call.

What follows from a result or a failure is decided by plain functions, as a `RunEnd`. It is stored before the caller
gets it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import orjson

from assent.contract.documents import is_large, short_json
from assent.contract.fields import as_time
from assent.contract.pointers import MISSING, resolve
from assent.core.audit import Entry, call_facts
from assent.core.call import Resume
from assent.core.claims import NEVER, Settlement, State
from assent.core.guard_finding import GuardFinding, finding_facts
from assent.core.one_time_secrets import without_secrets
from assent.core.outcome import INPUT_REQUIRED, Answer, Refusal
from assent.core.problems import declared_failure, error_result, problem_in
from assent.core.tool import collecting_events, events_in, recorded_events
from assent.pipeline.afford import connection_refusal
from assent.pipeline.claim import Claim
from assent.pipeline.guard import GuardedResult, guard_result, guarded_text, guards_of, read_in_time, remember
from assent.pipeline.record import CallTrace, always
from assent.pipeline.rehearse import use_rehearsal
from assent.pipeline.remedies import doubt_refusal, dry_run_refusal
from assent.ports import Confined, NotReached, NotRun, OutcomeUnknown, Ports, ToolFailed
from assent.rules.guards.results import read_apart

SUSPENDED_FOR = 600.0
_SUCCEEDED, _SUSPENDED, _NO_EFFECT = State.SUCCEEDED, State.SUSPENDED, State.FAILED_NO_EFFECT


class RunEnd(NamedTuple):
    """How a run ended: what is stored, and what the caller gets once that is durable."""

    state: State
    result: dict[str, Any] | None = None
    """What the caller gets."""
    error: Exception | None = None
    """What the caller gets instead: a refusal, or an error of the tool's own server."""
    stored: dict[str, Any] | None = None
    """What retries get. Nothing is stored of a read, because it is never replayed."""
    code: str = ""
    violation: str | None = None
    """The failure that the contract does not declare."""
    findings: Sequence[GuardFinding] = ()
    told: dict[str, Any] | None = None
    """The result before it was masked, which says how long it is valid."""
    text: bytes | None = None
    """The result as JSON, if that was written already."""


applies = always  # It runs the tool.


async def execute(claim: Claim, ports: Ports, trace: CallTrace) -> Answer:
    """Run the tool, store its result durably, and only then answer."""
    with ports.work.holding(claim.id, claim.epoch), collecting_events():
        if claim.call.tool.needs_rehearsal and not (claim.ran_before or trace.observing):
            await _use_rehearsal(claim, ports)
        try:
            result = await ports.upstream.run(claim.call, claim.upstream_key)
        except asyncio.CancelledError:
            with suppress(Refusal):  # The claim is in doubt from now on, not only when its lease ends.
                await _settle(claim, _unknown(claim, ports), ports)
            raise
        except Exception as error:
            end = await _settle(claim, _end_of_failure(claim, error, ports, trace), ports)
            if isinstance(error, NotReached) and end.state is _NO_EFFECT:
                end = end._replace(error=await connection_refusal(claim.call, ports, error.scope) or end.error)
            kept = remember(claim.call, end.error or end.result or {}, ports)
            return _answer(claim, end, kept if isinstance(kept, dict) else await kept)
        return await keep(claim, result, ports, trace)


async def _use_rehearsal(claim: Claim, ports: Ports) -> None:
    """Refuse a call whose dry run another call used up after both had passed `rehearse`."""
    if not await use_rehearsal(claim.call, ports):
        refusal = dry_run_refusal(claim.call)
        await _settle(claim, RunEnd(State.FAILED_NO_EFFECT, None, refusal, code=refusal.code), ports)
        raise refusal


async def keep(claim: Claim, result: dict[str, Any], ports: Ports, trace: CallTrace) -> Answer:
    """Settle a claim with the tool's result and return it; if it cannot be checked, the claim is in doubt."""
    try:
        text = short_json(result)
        read = partial(_end_of_result, claim, result, text, ports, trace)
        if guards_of(claim.call.tool, ports.rules)["results"]:
            end = await read_in_time(claim.call, result, ports, read)
        elif text is None and claim.call.tool.check_output is not None and is_large(result):
            end = await read_apart(read, result, claim.call.principal)
        else:
            end = read()
    except Exception:
        end = _unknown(claim, ports)
    if claim.id is not None or recorded_events() or claim.call.tool.events:
        end = await _settle(claim, end, ports)
    kept = remember(claim.call, end.error or end.result or {}, ports)
    return _answer(claim, end, kept if isinstance(kept, dict) else await kept)


def _answer(claim: Claim, end: RunEnd, kept: dict[str, Any]) -> Answer:
    """What the caller gets of a run whose end is stored."""
    if end.error is not None:
        raise end.error from None
    assert end.result is not None
    suspended = claim.id if end.state is _SUSPENDED else None
    resume = Resume(suspended, claim.epoch) if suspended is not None else None
    return Answer(kept, False, resume, end.text if kept is end.result else None)


def _end_of_result(claim: Claim, result: dict[str, Any], text: bytes | None, ports: Ports, trace: CallTrace) -> RunEnd:
    """What follows from a result: the guards mask or withhold it before it is stored or leaves."""
    guarded, check = _guard_answer(claim, result, ports, trace), claim.call.tool.check_output
    if result.get("resultType") == INPUT_REQUIRED:  # The claim waits for the answer, and is in doubt if none comes.
        trace.note_pass("execute", "the tool asks its own question")
        return RunEnd(State.SUSPENDED, guarded.result, guarded.refusal)
    if result.get("isError"):
        return _error_result(claim, guarded, ports, trace)
    wrong = check(result.get("structuredContent"), text) if check is not None else []
    if wrong:
        refusal = Refusal("execute.output_invalid", violations=[{"field": f, "reason": r} for f, r in wrong])
        return _violation(refusal, State.SUCCEEDED, guarded.result, trace)._replace(findings=guarded.findings)
    if guarded.refusal is not None:
        return _withheld(State.SUCCEEDED, guarded)
    trace.note_pass("execute", "succeeded")
    text = text if guarded.result is result and not claim.call.tool.has_secrets else None
    return RunEnd(_SUCCEEDED, guarded.result, None, guarded.result, "", None, guarded.findings, result, text)


def _guard_answer(claim: Claim, result: dict[str, Any], ports: Ports, trace: CallTrace) -> GuardedResult:
    guarded = guard_result(claim.call, result, ports, observing=trace.observing)
    trace.guards += guarded.findings
    return guarded


def _withheld(state: State, guarded: GuardedResult) -> RunEnd:
    """A guard withholds the result; a retry gets the same refusal."""
    assert guarded.refusal is not None
    stored = error_result(guarded.refusal.problem())
    return RunEnd(state, None, guarded.refusal, stored, guarded.refusal.code, findings=guarded.findings)


def _violation(refusal: Refusal, state: State, result: dict[str, Any] | None, trace: CallTrace) -> RunEnd:
    """The tool violates its contract. In observe mode its own result is passed on, if there is one."""
    if trace.observing and result is not None:
        trace.refuse_or_note("execute", refusal)
        return RunEnd(state, result, None, result, refusal.code)
    return RunEnd(state, None, refusal, error_result(refusal.problem()), refusal.code)


def _error_result(claim: Claim, guarded: GuardedResult, ports: Ports, trace: CallTrace) -> RunEnd:
    """A result with `isError`; if the contract declares failures, its code must be one of them."""
    result, modes = guarded.result, claim.call.tool.contract.failure_modes
    if guarded.refusal is not None:
        return _withheld(State.FAILED, guarded)
    problem = problem_in(result)
    code, detail = problem.get("code"), problem.get("detail")
    if isinstance(code, str) and code in modes:
        return _tool_failed(claim, ToolFailed(code, detail if isinstance(detail, str) else ""), ports, trace)
    if modes:
        return _undeclared(code if isinstance(code, str) else "", result, trace)
    trace.note_pass("execute", "the tool reported an error")
    return RunEnd(State.FAILED, result, None, result, "execute.failed", findings=guarded.findings)


def _end_of_failure(claim: Claim, error: Exception, ports: Ports, trace: CallTrace) -> RunEnd:
    """What follows if the tool gave no result. Only what surely had no effect leaves the key free."""
    if isinstance(error, ToolFailed):
        with suppress(Exception):  # What cannot be checked is unknown.
            return _tool_failed(claim, error, ports, trace)
    if isinstance(error, NotReached | NotRun) and not claim.ran_before:
        code = "execute.unavailable" if isinstance(error, NotReached) else "validate.arguments_invalid"
        own = (error.error, str(error)) if isinstance(error, NotRun) else (None, "")
        return RunEnd(State.FAILED_NO_EFFECT, None, own[0] or Refusal(code, own[1]), code=code)
    if isinstance(error, Confined):
        refusal = Refusal("execute.confined", error.detail, setting=error.setting)
        return RunEnd(State.FAILED, None, refusal, error_result(refusal.problem()), refusal.code)
    if isinstance(error, OutcomeUnknown):
        return _unknown(claim, ports, error=error.error, said=guarded_text(claim.call, error.said, ports))
    return _unknown(claim, ports, error=error.error if isinstance(error, NotRun) else None)


def _tool_failed(claim: Claim, failed: ToolFailed, ports: Ports, trace: CallTrace) -> RunEnd:
    """A failure under the tool's own code: a declared one, or a violation of the contract."""
    contract = claim.call.tool.contract
    result = declared_failure(contract, failed.code, failed.detail, failed.facts)
    if result is None:
        return _undeclared(failed.code, None, trace)
    mode = contract.failure_modes[failed.code]
    if mode.outcome == "unknown":
        return _unknown(claim, ports, failed.code)
    undone = mode.outcome == "no_effect" and not (claim.ran_before and contract.idempotency.recovery == "natural")
    state = State.FAILED_NO_EFFECT if undone else State.FAILED
    guarded = _guard_answer(claim, result, ports, trace)
    if guarded.refusal is not None:
        return _withheld(state, guarded)
    trace.note_pass("execute", f"failed as declared: {failed.code}")
    return RunEnd(state, guarded.result, None, guarded.result, failed.code, findings=guarded.findings)


def _undeclared(code: str, result: dict[str, Any] | None, trace: CallTrace) -> RunEnd:
    end = _violation(Refusal("execute.undeclared_failure"), State.FAILED, result, trace)
    return end._replace(violation=code[:100])


def _unknown(claim: Claim, ports: Ports, code: str = "", error: Exception | None = None, said: str = "") -> RunEnd:
    """The outcome is unknown. A read may simply be repeated; any other call is in doubt."""
    if claim.call.tool.is_read:
        return RunEnd(State.FAILED, None, error or Refusal("execute.failed"), code=code or "execute.failed")
    return RunEnd(
        State.IN_DOUBT,
        None,
        doubt_refusal("execute.in_doubt", ports, claim.call, said),
        code=code or "execute.in_doubt",
    )


async def _settle(claim: Claim, end: RunEnd, ports: Ports) -> RunEnd:
    """Settle the claim: the second durable write. Returns the end as stored.

    If it fails, or another process holds the claim, the end is in doubt.
    """
    now = ports.now()
    events = _event_entries(claim, end, ports, now)
    if claim.id is None:
        for event in events:
            ports.store.append(event)
        return end
    try:
        settlement = _settlement(claim, end, now, ports)
    except Exception:  # A result that cannot be stored.
        end = _unknown(claim, ports)
        settlement = _settlement(claim, end, now, ports)
    try:
        entries = [*events, *_entries(claim, end, now, ports)]
        settled = await ports.store.settle(claim.id, claim.epoch, settlement, entries)
    except Exception:
        settled = False
    if not settled:
        raise doubt_refusal("execute.in_doubt", ports)
    return end


def _settlement(claim: Claim, end: RunEnd, now: float, ports: Ports) -> Settlement:
    call, result = claim.call, end.stored
    if end.state is _SUSPENDED:
        return Settlement(end.state, now, lease_until=now + SUSPENDED_FOR)
    if result is not None and call.tool.has_secrets:
        result = without_secrets(call.tool.contract, result)
    kept = None if result is None or call.tool.is_read else end.text or orjson.dumps(result)
    return Settlement(end.state, now, kept, _valid_until(claim, end, now, ports.rules.retention))


def _entries(claim: Claim, end: RunEnd, now: float, ports: Ports) -> list[Entry]:
    assert claim.id is not None
    facts = claim.facts or {**call_facts(claim.call), "claim": ports.keyed_hash(claim.id)}
    outcome = {**facts, "state": end.state.value}
    if end.code:
        outcome["code"] = end.code
    if end.findings:
        outcome.update(finding_facts(end.findings))
    entries = [Entry("outcome", now, outcome)]
    if end.violation is not None:
        entries.append(Entry("violation", now, {**facts, "code": end.code}, {"failure": end.violation}))
    return entries


def _event_entries(claim: Claim, end: RunEnd, ports: Ports, now: float) -> list[Entry]:
    """The entries of the events that the tool recorded, and of those that its contract reads in the result."""
    events, contract = recorded_events() or [], claim.call.tool.contract
    if claim.call.tool.events and end.state is _SUCCEEDED and end.stored is not None:
        shown = without_secrets(contract, end.stored)
        events = [*events, *events_in(contract, shown.get("structuredContent"))]
    if not events:
        return []
    joined = {"claim": ports.keyed_hash(claim.id)} if claim.id is not None else {}
    facts = {**call_facts(claim.call), **joined}
    return [
        Entry("violation", now, {**facts, "code": one.name}, orjson.loads(one.values))
        if one.kind == "violation"
        else Entry("event", now, {**facts, "event": one.name}, {"event": one.values})
        for one in events
    ]


def _valid_until(claim: Claim, end: RunEnd, now: float, retention: float) -> float | None:
    """The time until which the result is valid for its natural or derived key; a failed call is never reused."""
    natural, result = claim.call.tool.natural, end.told or end.stored
    if end.state is _NO_EFFECT and result is None:  # It did not run, so it is forgotten.
        return NEVER
    if natural is None and (claim.call.key is not None or not claim.call.tool.derives_key):
        return None
    if result is None or result.get("isError"):
        return NEVER
    if natural is None or natural.until is None:
        return now + (claim.call.tool.retention or retention)
    structured = result.get("structuredContent")
    value = resolve(structured, natural.until)
    return as_time(resolve(claim.call.arguments, natural.until) if value is MISSING else value, now)
