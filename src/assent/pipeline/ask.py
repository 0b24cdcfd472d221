"""Asks the caller for confirmation on the stream of a call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from assent.core.approval import Approval
from assent.core.call import Request, UserAnswer
from assent.core.outcome import Outcome, Pause
from assent.pipeline.govern import govern
from assent.ports import Ports

MOST_QUESTIONS: Final = 3
"""After this many, a call whose question changes with every answer is decided out of band."""


async def confirm_on_stream(
    request: Request, outcome: Outcome, ports: Ports, ask: Callable[[Approval], Awaitable[UserAnswer | None]]
) -> Outcome:
    """Run the pipeline again with each answer, and ask again if something has changed, such as the price.

    A client that cannot answer waits for a decision out of band.
    """
    for _ in range(MOST_QUESTIONS):
        if not isinstance(outcome, Pause):
            return outcome
        reply = await ask(outcome.approval)
        if reply is None:
            break
        outcome = await govern(request._replace(reply=reply), ports)
    return await govern(request._replace(can_ask=False), ports) if isinstance(outcome, Pause) else outcome
