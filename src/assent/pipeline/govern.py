"""The pipeline: the fixed order of stages that every governed call runs through."""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from typing import Any

from assent.contract.documents import is_large, short_json
from assent.core.approval import Approval
from assent.core.call import Call, Request
from assent.core.estimates import NO_PRICE
from assent.core.outcome import Answer, Outcome
from assent.core.stop_switch import StopSet
from assent.pipeline.afford import afford
from assent.pipeline.authorize import authorize
from assent.pipeline.claim import claim, unclaimed
from assent.pipeline.confirm import confirm
from assent.pipeline.discover import discover
from assent.pipeline.execute import execute
from assent.pipeline.guard import guard
from assent.pipeline.plan import EVERY_STAGE, plan_of
from assent.pipeline.recall import await_concurrent_result, recall
from assent.pipeline.record import CallTrace, record
from assent.pipeline.rehearse import Rehearsed, rehearse
from assent.pipeline.step_up import step_up
from assent.pipeline.validate import validate
from assent.ports import ClaimExists, Ports
from assent.rules.guards.results import read_apart


def govern(request: Request, ports: Ports) -> Coroutine[Any, Any, Outcome]:
    """Run a request through the pipeline. The order is fixed: extensions are inside a stage, never between stages."""
    return record(request, ports, run_stages)


async def run_stages(request: Request, ports: Ports, trace: CallTrace) -> Answer:
    """Run the stages that can object to the call; all of them if their notes are read.

    A stage that may have to wait returns what to await, or None if it has decided already.
    """
    principal = trace.identify(request.principal)
    tool = discover(request, principal, ports, trace)
    plan = EVERY_STAGE if trace.keeps_notes else plan_of(tool, principal, ports.rules)
    stops = ports.stops()
    if not isinstance(stops, StopSet):
        stops = await stops
    missing = authorize(request, principal, tool, ports.rules, trace, stops)
    text = short_json(request.arguments)
    if text is None and is_large(request.arguments):
        call = await read_apart(partial(validate, request, principal, tool, trace), request.arguments, principal)
    else:
        call = validate(request, principal, tool, trace, text)
    looking = recall(call, ports, trace)
    if looking is not None and (known := await looking) is not None:
        return known
    checking = guard(call, ports, trace) if plan.guard else None
    if checking is not None:
        await checking
    price = await afford(call, missing, ports, trace) if plan.afford else NO_PRICE
    rehearsal = await rehearse(call, missing, price, ports, trace) if plan.rehearse else Rehearsed(price=price)
    if rehearsal.answer:
        return rehearsal.answer
    if plan.step_up:
        step_up(call, ports, trace)
    asking = confirm(call, rehearsal, ports, trace) if plan.confirm else None
    try:
        approval = await asking if asking is not None else None
    except ClaimExists:  # Another call with this key has used up the approval since `recall`.
        return await await_concurrent_result(call, ports, trace)
    if not plan.claim:
        return await execute(unclaimed(call), ports, trace)
    if call.tool.is_read and approval is None:
        return await _commit(call, None, price.text, ports, trace)
    trace.handed_over = True
    try:
        return await ports.work.shield(_commit(call, approval, price.text, ports, trace), request.presence)
    except ClaimExists:
        trace.handed_over = False
        return await await_concurrent_result(call, ports, trace)


async def _commit(call: Call, approval: Approval | None, price: str | None, ports: Ports, trace: CallTrace) -> Answer:
    """Run the last two stages out of reach of a disconnecting caller: once recorded, the effect runs to its end."""
    return await execute(await claim(call, approval, price, ports, trace), ports, trace)
