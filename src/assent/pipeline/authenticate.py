"""Stage `authenticate`: runs at the edge, before the pipeline, because only the edge knows its credentials.

The HTTP gateway answers a failure with a challenge and counts it (`gateway/auth`). An edge inside a server's own
process uses this function. See ADR 0076.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress

from assent.core.audit import Entry, unknown_tool_values
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.errors import StoreError
from assent.pipeline.record import always
from assent.ports import Ports

applies = always  # Before it there is no caller.


async def authenticate(finding: Awaitable[Principal], tool: str, ports: Ports) -> Principal:
    """Return the principal that `finding` finds. A failure is recorded and then raised; there is no default
    principal.
    """
    try:
        return await finding
    except Refusal as refusal:
        _record(Entry("denial", ports.now(), {"code": refusal.code}, unknown_tool_values(tool)), ports)
        ports.seen(None, refusal, ())
        raise
    except (Exception, asyncio.CancelledError):
        with suppress(Refusal):
            _record(Entry("failure", ports.now(), {}, unknown_tool_values(tool)), ports)
        ports.seen(None, None, ())
        raise


def _record(entry: Entry, ports: Ports) -> None:
    try:
        ports.store.append(entry)
    except StoreError:
        raise Refusal("record.unavailable") from None
