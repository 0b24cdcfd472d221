"""Was this call governed? Read this screen."""

from __future__ import annotations

from assent.contract.schema_cost import is_large
from assent.core.approval import Approval
from assent.core.call import Call, Request
from assent.core.outcome import Answer, Outcome
from assent.pipeline.authenticate import authenticate
from assent.pipeline.authorize import authorize
from assent.pipeline.claim import claim
from assent.pipeline.confirm import confirm
from assent.pipeline.discover import discover
from assent.pipeline.execute import execute
from assent.pipeline.guard import guard
from assent.pipeline.journal import Journal
from assent.pipeline.recall import overtaken, recall
from assent.pipeline.record import record
from assent.pipeline.rehearse import rehearse
from assent.pipeline.step_up import step_up
from assent.pipeline.validate import validate
from assent.ports import Ports, Taken


async def govern(request: Request, ports: Ports) -> Outcome:
    """The one path of every call. Its order is fixed; extension happens inside a verb, never between verbs."""
    return await record(request, ports, sentence)


async def sentence(request: Request, ports: Ports, journal: Journal) -> Answer:
    principal = await authenticate(request, ports, journal)
    tool = discover(request, principal, ports, journal)
    missing = authorize(request, principal, tool, journal)
    if is_large(request.arguments):
        await ports.work.turn()
    call = validate(request, principal, tool, journal)
    if known := await recall(call, ports, journal):
        return known
    guard(call, ports, journal)
    rehearsal = await rehearse(call, missing, ports, journal)
    if rehearsal.answer:
        return rehearsal.answer
    approval = await confirm(call, rehearsal, ports, journal)
    step_up(call, ports, journal)
    if call.is_read and approval is None:
        return await _commit(call, None, rehearsal.price, ports, journal)
    journal.handed_over = True
    try:
        return await ports.work.shield(_commit(call, approval, rehearsal.price, ports, journal), request.presence)
    except Taken:
        journal.handed_over = False
        return await overtaken(call, ports, journal)


async def _commit(call: Call, approval: Approval | None, price: str | None, ports: Ports, journal: Journal) -> Answer:
    """The last two verbs, out of reach of a caller who leaves: once written down, the effect runs on."""
    return await execute(await claim(call, approval, price, ports, journal), ports, journal)
