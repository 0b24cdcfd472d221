"""Runs the tool once and keeps its result: the second durable write of a call."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import orjson

from assent.contract.pointers import MISSING, resolve
from assent.contract.schema_cost import is_large
from assent.core.audit import Entry, call_facts
from assent.core.call import Resume
from assent.core.claims import NEVER, Settlement, State, derives_key
from assent.core.outcome import INPUT_REQUIRED, Answer, Ending, Refusal, declared_failure, error_result, problem_in
from assent.core.secrets import without_secrets
from assent.core.timestamps import as_time
from assent.errors import StoreError
from assent.pipeline.claim import Claim
from assent.pipeline.trace import CallTrace
from assent.ports import NotReached, NotRun, OutcomeUnknown, Ports, ToolFailed

SUSPENDED_FOR = 600.0


async def execute(claim: Claim, ports: Ports, trace: CallTrace) -> Answer:
    """Run the tool and keep what it said; a second durable write, and only then the answer."""
    with ports.work.holding(claim.id, claim.epoch):
        try:
            result = await ports.upstream.run(claim.call, claim.upstream_key)
        except NotReached:
            if claim.begun:
                return await _lost(claim, ports)
            await _end(claim, State.FAILED_NO_EFFECT, None, ports, code="execute.unavailable", forget=True)
            raise Refusal("execute.unavailable") from None
        except ToolFailed as failed:
            return await _failed(claim, failed, ports, trace)
        except NotRun as refused:
            if claim.begun:
                return await _lost(claim, ports, error=refused.error)
            await _end(claim, State.FAILED_NO_EFFECT, None, ports, code="validate.arguments_invalid", forget=True)
            raise refused.error or Refusal("validate.arguments_invalid", str(refused)) from None
        except OutcomeUnknown as lost:
            return await _lost(claim, ports, error=lost.error)
        except Exception:
            return await _lost(claim, ports)
        except asyncio.CancelledError:
            await _abandoned(claim, ports)
            raise
        return await keep(claim, result, ports, trace)


async def keep(claim: Claim, result: dict[str, Any], ports: Ports, trace: CallTrace) -> Answer:
    """Settle a claim with the tool's result and answer with it; a result that cannot be kept leaves a doubt."""
    try:
        return await _kept(claim, result, ports, trace)
    except Ending:
        raise
    except Exception:
        return await _lost(claim, ports)


async def _kept(claim: Claim, result: dict[str, Any], ports: Ports, trace: CallTrace) -> Answer:
    tool = claim.call.tool
    if result.get("resultType") == INPUT_REQUIRED:
        return await _suspend(claim, result, ports, trace)
    if result.get("isError"):
        return await _error_result(claim, result, ports, trace)
    if tool.check_output is not None and is_large(result.get("structuredContent")):
        await ports.work.turn()
    if tool.check_output is not None and (wrong := tool.check_output(result.get("structuredContent"))):
        refusal = Refusal("execute.output_invalid", violations=[{"field": f, "reason": r} for f, r in wrong])
        said = result if trace.observing else error_result(refusal.problem())
        await _end(claim, State.SUCCEEDED, said, ports, code=refusal.code)
        trace.refuse_or_note("execute", refusal)
        return Answer(result)
    await _end(claim, State.SUCCEEDED, result, ports)
    trace.passed("execute", "succeeded")
    return Answer(result)


async def _suspend(claim: Claim, result: dict[str, Any], ports: Ports, trace: CallTrace) -> Answer:
    """The tool asks a question of its own: the claim waits for the answer, and is in doubt if none comes."""
    if claim.id is None:
        return Answer(result)
    now = ports.now()
    settlement = Settlement(State.SUSPENDED, now, lease_until=now + SUSPENDED_FOR)
    entry = Entry(
        "outcome", now, {**call_facts(claim.call), "claim": ports.keyed_hash(claim.id), "state": State.SUSPENDED.value}
    )
    await _settle(claim.id, claim.epoch, settlement, [entry], ports)
    trace.passed("execute", "the tool asks a question of its own")
    return Answer(result, resume=Resume(claim.id, claim.epoch))


async def _failed(claim: Claim, failed: ToolFailed, ports: Ports, trace: CallTrace) -> Answer:
    """A failure under the tool's own code: as declared, or a violation of the contract."""
    contract = claim.call.tool.contract
    result = declared_failure(contract, failed.code, failed.detail, failed.facts)
    if result is None:
        return await _undeclared(claim, failed.code, ports, trace)
    mode = contract.failure_modes[failed.code]
    if mode.outcome == "unknown":
        return await _lost(claim, ports, failed.code)
    undone = mode.outcome == "no_effect" and not (claim.begun and contract.idempotency.recovery == "natural")
    state = State.FAILED_NO_EFFECT if undone else State.FAILED
    await _end(claim, state, result, ports, code=failed.code)
    trace.passed("execute", f"failed as declared: {failed.code}")
    return Answer(result)


async def _error_result(claim: Claim, result: dict[str, Any], ports: Ports, trace: CallTrace) -> Answer:
    """A result that says it is an error; where the contract closes the list of failures, its code must be on it."""
    modes = claim.call.tool.contract.failure_modes
    problem = problem_in(result)
    code, detail = problem.get("code"), problem.get("detail")
    if isinstance(code, str) and code in modes:
        return await _failed(claim, ToolFailed(code, detail if isinstance(detail, str) else ""), ports, trace)
    if modes:
        return await _undeclared(claim, code if isinstance(code, str) else "", ports, trace, result)
    await _end(claim, State.FAILED, result, ports, code="execute.failed")
    trace.passed("execute", "the tool reported an error")
    return Answer(result)


async def _undeclared(
    claim: Claim, code: str, ports: Ports, trace: CallTrace, result: dict[str, Any] | None = None
) -> Answer:
    """A violation of the contract. Who only observes passes on what the tool said, if it said anything."""
    refusal = Refusal("execute.undeclared_failure")
    said = result if trace.observing and result is not None else error_result(refusal.problem())
    await _end(claim, State.FAILED, said, ports, code=refusal.code, violation=code[:100])
    if result is None:
        raise refusal
    trace.refuse_or_note("execute", refusal)
    return Answer(result)


async def _lost(claim: Claim, ports: Ports, code: str = "", error: Exception | None = None) -> Answer:
    """Nobody knows what happened. A read may simply be repeated; anything else is in doubt and says so."""
    if claim.call.is_read:
        await _end(claim, State.FAILED, None, ports, code=code or "execute.failed")
        raise error or Refusal("execute.failed")
    await _end(claim, State.IN_DOUBT, None, ports, code=code or "execute.in_doubt")
    raise Refusal("execute.in_doubt")


async def _abandoned(claim: Claim, ports: Ports) -> None:
    """We are told to stop while the tool runs: say at once that nobody will know."""
    with suppress(Refusal):
        await _lost(claim, ports)


async def _end(
    claim: Claim,
    state: State,
    result: dict[str, Any] | None,
    ports: Ports,
    *,
    code: str = "",
    violation: str | None = None,
    forget: bool = False,
) -> None:
    """The second durable write. If it fails, or somebody else holds the claim by now, the end is in doubt.

    What a read said is not kept: nobody replays it.
    """
    if claim.id is None:
        return
    call, now = claim.call, ports.now()
    name = ports.keyed_hash(claim.id)
    facts = {**call_facts(call), "claim": name, "state": state.value} | ({"code": code} if code else {})
    entries = [Entry("outcome", now, facts)]
    if violation is not None:
        entries.append(
            Entry("violation", now, {**call_facts(call), "claim": name, "code": code}, {"failure": violation})
        )
    kept = None if result is None or call.is_read else orjson.dumps(without_secrets(call.tool.contract, result))
    settlement = Settlement(
        state, now, kept, _valid_until(claim, result, forget=forget, now=now, retention=ports.retention)
    )
    await _settle(claim.id, claim.epoch, settlement, entries, ports)


async def _settle(claim_id: str, epoch: int, settlement: Settlement, entries: list[Entry], ports: Ports) -> None:
    try:
        if not await ports.store.settle(claim_id, epoch, settlement, entries):
            raise Refusal("execute.in_doubt")
    except StoreError:
        raise Refusal("execute.in_doubt") from None


def _valid_until(
    claim: Claim, result: dict[str, Any] | None, *, forget: bool, now: float, retention: float
) -> float | None:
    """Until when the answer stands for its natural or derived key; a failed call stands for nothing."""
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
