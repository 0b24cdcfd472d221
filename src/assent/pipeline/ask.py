"""How often is a caller asked on the stream of one call?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from assent.core.approval import Approval
from assent.core.call import Request, UserAnswer
from assent.core.outcome import Outcome, Pause
from assent.pipeline.govern import govern
from assent.ports import Ports

MOST_QUESTIONS: Final = 3
"""What changes under every answer is left to be decided elsewhere."""


async def confirm_on_stream(
    request: Request, outcome: Outcome, ports: Ports, ask: Callable[[Approval], Awaitable[UserAnswer | None]]
) -> Outcome:
    """Say the sentence again with the answer, and ask anew about what has changed meanwhile, such as the price; a
    client that cannot answer waits out of band."""
    for _ in range(MOST_QUESTIONS):
        if not isinstance(outcome, Pause):
            return outcome
        reply = await ask(outcome.approval)
        if reply is None:
            break
        outcome = await govern(request._replace(reply=reply), ports)
    return await govern(request._replace(can_ask=False), ports) if isinstance(outcome, Pause) else outcome
