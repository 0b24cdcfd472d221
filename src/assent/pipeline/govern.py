"""The pipeline: the fixed order of stages that every governed call runs through."""

from __future__ import annotations

from assent.contract.schema_cost import is_large
from assent.core.approval import Approval
from assent.core.call import Call, Request
from assent.core.outcome import Answer, Outcome
from assent.pipeline.authorize import authorize
from assent.pipeline.claim import claim
from assent.pipeline.confirm import confirm
from assent.pipeline.discover import discover
from assent.pipeline.execute import execute
from assent.pipeline.guard import guard, require_connection
from assent.pipeline.quota_check import check_estimate, check_quotas
from assent.pipeline.recall import await_concurrent_result, recall
from assent.pipeline.record import record
from assent.pipeline.rehearse import rehearse
from assent.pipeline.step_up import step_up
from assent.pipeline.trace import CallTrace
from assent.pipeline.validate import validate
from assent.ports import ClaimExists, Ports


async def govern(request: Request, ports: Ports) -> Outcome:
    """Run a request through the pipeline. The order is fixed: extensions are inside a stage, never between stages."""
    return await record(request, ports, run_stages)


async def run_stages(request: Request, ports: Ports, trace: CallTrace) -> Answer:
    principal = trace.identify(request.principal)
    tool = discover(request, principal, ports, trace)
    missing = authorize(request, principal, tool, trace, await ports.stops(), ports.policies)
    if large := is_large(request.arguments):
        await ports.work.turn()
    call = validate(request, principal, tool, trace, large=large)
    if known := await recall(call, ports, trace):
        return known
    await guard(call, ports, trace)
    await check_quotas(call, ports, trace)  # before confirm: no person is asked about a call that cannot run
    await require_connection(call, ports)
    rehearsal = await rehearse(call, missing, ports, trace)
    if rehearsal.answer:
        return rehearsal.answer
    await check_estimate(call, rehearsal.price, ports, trace)
    step_up(call, ports, trace)
    approval = await confirm(call, rehearsal, ports, trace)
    if approval is not None and ports.flow is not None:
        ports.flow.vouch(call, ports.now())
    if call.is_read and approval is None:
        return await _commit(call, None, rehearsal.price, ports, trace)
    trace.handed_over = True
    try:
        return await ports.work.shield(_commit(call, approval, rehearsal.price, ports, trace), request.presence)
    except ClaimExists:
        trace.handed_over = False
        return await await_concurrent_result(call, ports, trace)


async def _commit(call: Call, approval: Approval | None, price: str | None, ports: Ports, trace: CallTrace) -> Answer:
    """Run the last two stages out of reach of a disconnecting caller: once recorded, the effect runs to its end."""
    return await execute(await claim(call, approval, price, ports, trace), ports, trace)
