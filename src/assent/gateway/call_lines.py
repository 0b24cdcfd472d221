"""Lines in the log for the person who runs the gateway: calls that wait or were refused, and wrong credentials."""

from __future__ import annotations

import logging
import time

from assent.core.approval import Approval
from assent.core.limited_dict import LimitedDict
from assent.core.outcome import Refusal
from assent.core.question import counted, visible

logger = logging.getLogger(__name__)

INTERVAL = 60.0
_MOST = 1000
_WAITS = ("confirm.approval_pending", "confirm.required")


class CallLines:
    """Writes one line about a thing, and counts the same thing for a minute before the next line."""

    def __init__(self) -> None:
        self._last_lines = LimitedDict[tuple[str, str], tuple[float, int]](_MOST)

    def refused(self, tool: str | None, refusal: Refusal) -> None:
        """Tells of a refused call, unless it waits for a person."""
        if refusal.code not in _WAITS and not refusal.code.startswith("authenticate."):
            name = visible(tool) if tool else "a tool that is not served"
            self._tell(name, refusal.code, f"Refused: {name}: {refusal.code}")

    def waits(self, approval: Approval, page: str | None) -> None:
        """Tells that a call waits, and where a person decides."""
        where = page or f"assent approvals show {approval.id}"
        logger.info("Waiting: %s of %s needs a person: %s", visible(approval.tool), visible(approval.requester), where)

    def failed(self, code: str, address: str) -> None:
        """Tells that somebody came with credentials that are not valid."""
        if code != "authenticate.missing":  # Clients ask without credentials first, to learn which are needed.
            self._tell(code, address, f"Wrong credentials from {visible(address)}: {code}", logging.WARNING)

    def _tell(self, what: str, which: str, line: str, level: int = logging.INFO) -> None:
        now = time.monotonic()
        since, repeated = self._last_lines.get((what, which), (-INTERVAL, 0))
        if now - since < INTERVAL:
            self._last_lines[what, which] = since, repeated + 1
            return
        more = f" (and {counted(repeated, 'time')} more before)" if repeated else ""
        self._last_lines[what, which] = now, 0
        logger.log(level, "%s%s", line, more)
