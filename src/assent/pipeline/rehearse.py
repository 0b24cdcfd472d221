"""Stage `rehearse`: answers dry runs, and requires them where the contract does."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import orjson

from assent.core.audit import Entry, call_facts, call_values
from assent.core.call import Call
from assent.core.document import Document
from assent.core.estimates import NO_PRICE, PriceText
from assent.core.outcome import INPUT_REQUIRED, Answer, Refusal
from assent.core.principal import Rights
from assent.core.problems import declared_failure
from assent.core.tool import Tool
from assent.pipeline.claim import admit
from assent.pipeline.guard import guard_result_in_time, remember
from assent.pipeline.preview import complete_preview, reported_text
from assent.pipeline.record import CallTrace
from assent.pipeline.remedies import dry_run_refusal
from assent.ports import NotReached, NotRun, Ports, Rules, ToolFailed

KIND = "rehearsal"


class Rehearsed(NamedTuple):
    """What is known of a call before it runs."""

    answer: Answer | None = None
    preview: Any = None
    preview_digest: str = ""
    price: PriceText = NO_PRICE


def applies(tool: Tool, caller: Rights, rules: Rules) -> bool:
    """If the tool has a dry run."""
    return tool.contract.dry_run.mode != "none"


async def rehearse(call: Call, missing: tuple[str, ...], price: PriceText, ports: Ports, trace: CallTrace) -> Rehearsed:
    """Answer a dry run, and refuse a call whose required dry run is missing."""
    if call.dry_run:
        await admit(call, None, ports, (), trace)  # A dry run spends no budget, but counts towards the rate limit.
        return Rehearsed(await _answer(call, missing, price, ports, trace))
    spec = call.tool.contract.dry_run
    earlier = await _recent_rehearsal(call, ports) if spec.mode != "none" else None
    preview = orjson.loads(earlier.body) if earlier is not None else None
    if spec.mode == "required" and (preview is None or (_is_simulated(preview) and spec.simulated != "accepted")):
        trace.refuse_or_note("rehearse", dry_run_refusal(call))
    if earlier is None:
        trace.note_pass("rehearse", "no dry run needed")
        return Rehearsed(price=price)
    trace.note_pass("rehearse", "a dry run with these arguments exists")
    return Rehearsed(None, preview, hashlib.sha256(earlier.body).hexdigest(), price)


def _is_simulated(preview: Any) -> bool:
    return isinstance(preview, dict) and preview.get("simulated") is True


def rehearsal(call: Call, preview: bytes, now: float) -> Document:
    """The record of a dry run with its preview. An attacker who forges one gains: a skipped dry run."""
    return Document(KIND, call.digest, preview, call.principal.tenant, expires_at=_until(call, now))


async def use_rehearsal(call: Call, ports: Ports) -> bool:
    """Use up the required dry run of a call that is about to run; False if another call used it first."""
    return await ports.store.delete_document(KIND, call.digest, ports.now()) is not None


def _until(call: Call, at: float) -> float:
    return at + call.tool.contract.dry_run.within


async def _recent_rehearsal(call: Call, ports: Ports) -> Document | None:
    found = await ports.store.document(KIND, call.digest, ports.now())
    return None if found is None or _until(call, found.updated_at) <= ports.now() else found


async def _answer(call: Call, missing: tuple[str, ...], price: PriceText, ports: Ports, trace: CallTrace) -> Answer:
    """The preview as the caller gets it. Flow control remembers what it says, and what a failure says."""
    try:
        answer = await _preview(call, missing, price, ports, trace)
    except Exception as error:
        if not isinstance(kept := remember(call, error, ports), dict):
            await kept
        raise
    kept = remember(call, answer.result, ports)
    return answer._replace(result=kept if isinstance(kept, dict) else await kept)


async def _preview(call: Call, missing: tuple[str, ...], price: PriceText, ports: Ports, trace: CallTrace) -> Answer:
    """The upstream's own preview completed from the contract, or one from the contract alone."""
    native = call.tool.rehearses and not missing
    result = await _guard_preview(call, await _run(call, ports), ports, trace) if native else {"content": []}
    if result.get("isError") or result.get("resultType") == INPUT_REQUIRED:
        trace.note_pass("rehearse", "the tool's own dry run gave no preview")
        return Answer(result)
    structured = result.get("structuredContent")
    given = reported_text(result) if structured is None else structured
    preview = complete_preview(call, given, missing, simulated=not native)
    if price.text is not None and not missing:
        preview["price"] = price.with_unit
    text = orjson.dumps(preview, option=orjson.OPT_INDENT_2).decode()
    own = result.get("content", []) if structured is None else []
    answer = Answer({**result, "structuredContent": preview, "content": [*own, {"type": "text", "text": text}]})
    if not missing:
        entry = Entry("rehearsal", ports.now(), call_facts(call), call_values(call))
        await ports.store.put_document(rehearsal(call, orjson.dumps(preview), ports.now()), ports.now(), entry=entry)
        trace.rehearsed = True
    trace.note_pass("rehearse", "previewed by the tool" if native else "previewed from the contract")
    return answer


async def _guard_preview(call: Call, result: dict[str, Any], ports: Ports, trace: CallTrace) -> dict[str, Any]:
    """The tool's own preview as the guards leave it."""
    guarded = await guard_result_in_time(call, result, ports, observing=trace.observing)
    trace.guards += guarded.findings
    if guarded.refusal is not None and guarded.refusal.code != "guard.mask_misfit":  # A preview has no output schema.
        raise guarded.refusal
    return guarded.result


async def _run(call: Call, ports: Ports) -> dict[str, Any]:
    try:
        return await ports.upstream.run(call, None)
    except NotReached:
        raise Refusal("execute.unavailable") from None
    except NotRun as refused:
        raise refused.error or Refusal("validate.arguments_invalid", str(refused)) from None
    except ToolFailed as failed:
        declared = declared_failure(call.tool.contract, failed.code, failed.detail, failed.facts)
        if declared is not None:
            return declared
        raise Refusal("rehearse.failed") from None
    except Exception:
        raise Refusal("rehearse.failed") from None
