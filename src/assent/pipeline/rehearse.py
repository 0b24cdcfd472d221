"""Stage `rehearse`: answers dry runs, requires them where the contract does, and determines the price."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import orjson

from assent.contract.parts import Estimate
from assent.contract.pointers import MISSING
from assent.core.audit import Entry, call_facts, call_values
from assent.core.call import Call
from assent.core.outcome import INPUT_REQUIRED, Answer, Refusal, declared_failure
from assent.pipeline.claim import admit
from assent.pipeline.guard import guard_result
from assent.pipeline.quota_check import amount_at, stated_price
from assent.pipeline.trace import CallTrace
from assent.pipeline.validate import strip_control_arguments
from assent.ports import NotReached, NotRun, Ports, Rehearsal, ToolFailed

_NO_DRY_RUN = "The contract requires a dry run, and this tool has none of its own: a simulated preview does not count."
_ACCEPT_SIMULATED = (
    "Tell the user. An operator can let a preview made from the contract count, with `simulated: accepted` under "
    "`dry_run` in the tool's contract."
)
_SIMULATED = "The tool was not asked: this preview comes from its contract, so the tool's own checks are still to come."


class Rehearsed(NamedTuple):
    """What is known of a call before it runs."""

    answer: Answer | None = None
    preview: Any = None
    preview_digest: str = ""
    price: str | None = None


async def rehearse(call: Call, missing: tuple[str, ...], ports: Ports, trace: CallTrace) -> Rehearsed:
    """Answer a dry run, refuse a call whose required dry run is missing, and determine the price of a spend."""
    if call.dry_run:
        await admit(call, None, ports, (), trace)  # A dry run spends no budget, but counts towards the rate limit.
        return Rehearsed(await _preview(call, missing, ports, trace))
    spec = call.tool.contract.dry_run
    earlier = await _recent_rehearsal(call, ports) if spec.mode != "none" else None
    preview = orjson.loads(earlier.preview) if earlier is not None else None
    if spec.mode == "required" and (preview is None or (_is_simulated(preview) and spec.simulated != "accepted")):
        trace.refuse_or_note("rehearse", _dry_run_refusal(call))
    price = await _price(call, ports, trace)
    if earlier is None:
        trace.passed("rehearse", f"price {price}" if price else "no dry run needed")
        return Rehearsed(price=price)
    trace.passed("rehearse", "a dry run with these arguments exists")
    return Rehearsed(None, preview, hashlib.sha256(earlier.preview).hexdigest(), price)


def _is_simulated(preview: Any) -> bool:
    return isinstance(preview, dict) and preview.get("simulated") is True


def _dry_run_refusal(call: Call) -> Refusal:
    """The refusal of a call without its required dry run. No retry helps if the tool has no dry run of its own."""
    spec = call.tool.contract.dry_run
    if call.tool.rehearses or spec.simulated == "accepted":
        first = f"Call it with `{spec.argument}: true`, read the preview, then call it again without `{spec.argument}`."
        return Refusal("rehearse.dry_run_required", remedy=first, dry_run_argument=spec.argument)
    return Refusal("rehearse.dry_run_required", _NO_DRY_RUN, remedy=_ACCEPT_SIMULATED, dry_run_argument=spec.argument)


async def _recent_rehearsal(call: Call, ports: Ports) -> Rehearsal | None:
    rehearsal = await ports.store.rehearsed(call.digest)
    if rehearsal is None or rehearsal.at + call.tool.contract.dry_run.within <= ports.now():
        return None
    return rehearsal


async def _preview(call: Call, missing: tuple[str, ...], ports: Ports, trace: CallTrace) -> Answer:
    """The upstream's own preview completed from the contract, or one from the contract alone."""
    native = call.tool.rehearses and not missing
    result = _guarded(call, await _run(call, ports), ports, trace) if native else {"content": []}
    if result.get("isError") or result.get("resultType") == INPUT_REQUIRED:
        trace.passed("rehearse", "the tool's own dry run gave no preview")
        return Answer(result)
    preview = _complete_preview(call, result.get("structuredContent"), missing, simulated=not native)
    price = await _price(call, ports, trace) if not missing else None
    if price is not None:
        preview["price"] = price
    text = orjson.dumps(preview, option=orjson.OPT_INDENT_2).decode()
    answer = Answer({**result, "structuredContent": preview, "content": [{"type": "text", "text": text}]})
    if not missing:
        entry = Entry("rehearsal", ports.now(), call_facts(call), call_values(call))
        await ports.store.remember(Rehearsal(call.digest, orjson.dumps(preview), ports.now()), entry)
        trace.rehearsed = True
    trace.passed("rehearse", "previewed by the tool" if native else "previewed from the contract")
    return answer


def _guarded(call: Call, result: dict[str, Any], ports: Ports, trace: CallTrace) -> dict[str, Any]:
    """The tool's own preview as the guards leave it."""
    guarded = guard_result(call, result, ports, observing=trace.observing)
    trace.guards += guarded.findings
    if guarded.refusal is not None and guarded.refusal.code != "guard.mask_misfit":  # A preview has no output schema.
        raise guarded.refusal
    return guarded.result


def _complete_preview(call: Call, given: Any, missing: tuple[str, ...], *, simulated: bool) -> dict[str, Any]:
    contract = call.tool.contract
    preview: dict[str, Any] = {"dryRun": True}
    preview.update(given if isinstance(given, dict) else {} if given is None else {"result": given})
    preview["dryRun"] = True
    preview.setdefault("warnings", [])
    preview["missingPermissions"] = list(missing) or preview.get("missingPermissions", [])
    preview.setdefault("expectedSideEffects", list(contract.side_effects))
    preview.setdefault("estimatedDurationMs", None)
    if simulated:
        preview["simulated"] = True
        preview["warnings"] = [*preview["warnings"], _SIMULATED]
    return preview


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


async def _price(call: Call, ports: Ports, trace: CallTrace) -> str | None:
    """The price from the contract's estimate or cost, as text; a price that cannot be determined stops the call."""
    estimate, cost = call.tool.contract.estimate, call.tool.contract.cost
    if estimate is None:
        return stated_price(call)
    currency = f" {cost.currency}" if cost and cost.currency else ""
    amount = await _estimate_amount(call, estimate, ports)
    if amount is MISSING:
        trace.refuse_or_note("rehearse", Refusal("rehearse.estimate_failed"))
        return None
    return f"{amount}{currency}"


async def _estimate_amount(call: Call, estimate: Estimate, ports: Ports) -> Any:
    """The amount, or MISSING. The estimate gets the same arguments without Assent's own."""
    arguments = strip_control_arguments(call.tool.contract, call.arguments)
    try:
        result = await ports.upstream.read(estimate.tool, arguments, call)
    except Exception:
        return MISSING
    return MISSING if result.get("isError") else amount_at(result.get("structuredContent"), estimate.amount)
