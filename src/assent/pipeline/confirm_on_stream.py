"""Asks the caller for confirmation: on the stream of a call, or with its result. Duplicates cause one question."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from time import monotonic
from typing import Final

from assent.core.approval import Approval
from assent.core.call import Request, UserAnswer
from assent.core.open_questions import OpenQuestion
from assent.core.outcome import Outcome, Pause
from assent.pipeline.govern import govern
from assent.ports import Ports

MOST_QUESTIONS: Final = 3
"""After this many, a call whose question changes with every answer is decided out of band."""
MOST_HELD: Final = 64_000_000
"""Bytes of the arguments of calls that may wait with an open question at once."""
PARALLEL: Final = 1.0
"""Seconds within which a repeated call counts as sent beside the first one, if the answer comes with a new call."""

Ask = Callable[[Approval], Awaitable[UserAnswer | None]]


async def confirm_on_stream(request: Request, outcome: Outcome, ports: Ports, ask: Ask) -> Outcome:
    """Run the pipeline again with each answer, and ask again if something has changed, such as the price.

    A client that cannot answer waits for a decision out of band, and so does a call for which there is no memory.
    """
    if not isinstance(outcome, Pause):
        return outcome
    if ports.questions.held + outcome.size > MOST_HELD:
        return await _out_of_band(request, ports)
    with ports.questions.holding(outcome.size):
        return await _confirm(request, outcome, ports, ask)


async def _confirm(request: Request, outcome: Outcome, ports: Ports, ask: Ask) -> Outcome:
    """Ask until the outcome is no question any more. While another call asks the same question, wait for its end."""
    asked = 0
    while isinstance(outcome, Pause) and asked < MOST_QUESTIONS:
        asking = ports.questions.on_streams.get(outcome.approval.id)
        if asking is None:
            asked += 1
            outcome = await _ask_and_govern(request, outcome.approval, ports, ask)
            continue
        await asking.over.wait()
        outcome = await (_out_of_band(request, ports) if asking.unanswered else govern(request, ports))
    return await _out_of_band(request, ports) if isinstance(outcome, Pause) else outcome


async def _ask_and_govern(request: Request, approval: Approval, ports: Ports, ask: Ask) -> Outcome:
    """Ask, and run the pipeline with the answer; without one, out of band."""
    question = ports.questions.on_streams[approval.id] = OpenQuestion()
    try:
        begun = ports.now()
        reply = await ask(approval)
        question.unanswered = reply is None or reply.action == "cancel"
        if reply is None:
            return await _out_of_band(request, ports)
        return await govern(request._replace(reply=replace(reply, seconds=ports.now() - begun)), ports)
    finally:
        del ports.questions.on_streams[approval.id]
        question.over.set()


async def _out_of_band(request: Request, ports: Ports) -> Outcome:
    return await govern(request._replace(can_ask=False), ports)


async def confirm_with_result(request: Request, ports: Ports) -> Outcome:
    """Run the pipeline for a client that gets the question as the result of its call, and answers with a new call.

    Of equal calls with one key that come at the same time, one carries the question. The others wait for its answer, as
    for a running call.
    """
    sent = ports.questions.sent
    if request.reply is not None:
        sent.pop(request.reply.approval, None)
    outcome = await govern(request, ports)
    if not isinstance(outcome, Pause) or not outcome.keyed:
        return outcome
    name, now = outcome.approval.id, monotonic()
    if now - sent.get(name, now - PARALLEL) >= PARALLEL:
        sent[name] = now
        return outcome
    await ports.store.decided(name, ports.attach)
    outcome = await govern(request, ports)
    return await _out_of_band(request, ports) if isinstance(outcome, Pause) else outcome
