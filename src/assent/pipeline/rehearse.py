"""Stage `rehearse`: answers dry runs, requires them where the contract does, and determines the price."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import orjson

from assent.contract.parts import Estimate
from assent.contract.pointers import MISSING, resolve
from assent.core.audit import Entry, call_facts, call_values
from assent.core.call import Call
from assent.core.outcome import INPUT_REQUIRED, Answer, Refusal, declared_failure
from assent.pipeline.claim import admit
from assent.pipeline.trace import CallTrace
from assent.pipeline.validate import strip_control_arguments
from assent.ports import NotReached, NotRun, Ports, Rehearsal, ToolFailed


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
    if earlier is None and spec.mode == "required":
        trace.refuse_or_note("rehearse", Refusal("rehearse.dry_run_required", dry_run_argument=spec.argument))
    price = await _price(call, ports, trace)
    if earlier is None:
        trace.passed("rehearse", f"price {price}" if price else "no dry run needed")
        return Rehearsed(price=price)
    trace.passed("rehearse", "a dry run with these arguments exists")
    return Rehearsed(None, orjson.loads(earlier.preview), hashlib.sha256(earlier.preview).hexdigest(), price)


async def _recent_rehearsal(call: Call, ports: Ports) -> Rehearsal | None:
    rehearsal = await ports.store.rehearsed(call.digest)
    if rehearsal is None or rehearsal.at + call.tool.contract.dry_run.within <= ports.now():
        return None
    return rehearsal


async def _preview(call: Call, missing: tuple[str, ...], ports: Ports, trace: CallTrace) -> Answer:
    """The upstream's own preview completed from the contract, or one from the contract alone."""
    native = call.tool.rehearses and not missing
    result = await _run(call, ports) if native else {"content": []}
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
    currency = f" {cost.currency}" if cost and cost.currency else ""
    if estimate is None:
        amount = _amount(call.stated, cost.amount) if cost else MISSING
        return None if amount is MISSING else f"{amount}{currency}"
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
    return MISSING if result.get("isError") else _amount(result.get("structuredContent"), estimate.amount)


def _amount(document: Any, pointer: str) -> Any:
    """The value at the pointer if it can be an amount: a number, or a text that is not empty."""
    amount = resolve(document, pointer)
    is_one = isinstance(amount, int | float) if not isinstance(amount, str) else amount.strip()
    return amount if is_one and not isinstance(amount, bool) else MISSING
