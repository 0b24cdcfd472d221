"""When does a running gateway sign the log?"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from assent.audit.signer import EVERY, HEARTBEAT, AuditLogSigner
from assent.errors import AssentError

logger = logging.getLogger(__name__)


class PeriodicSigner:
    """Signs at the start, whenever there is something new, now and then when there is not, and at the end.

    What goes wrong stops no call: it is said once, and tried again.
    """

    def __init__(self, log_signer: AuditLogSigner, every: float = EVERY, heartbeat: float = HEARTBEAT) -> None:
        self.follow(log_signer, every, heartbeat)
        self._task: asyncio.Task[None] | None = None
        self.trouble: str | None = None
        self.anchored: dict[str, int] = {}
        """The size of the newest checkpoint that each anchor took since the start."""

    def follow(self, log_signer: AuditLogSigner, every: float = EVERY, heartbeat: float = HEARTBEAT) -> None:
        """Sign so from now on: another configuration names other anchors and times."""
        self._log_signer, self._every, self._heartbeat = log_signer, every, heartbeat

    @property
    def log_signer(self) -> AuditLogSigner:
        return self._log_signer

    def start(self) -> None:
        self._task = asyncio.create_task(self._keep_signing())

    async def stop(self) -> None:
        if self._task is None:
            return
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        self._task = None
        await self.sign(always=True)

    async def sign(self, *, always: bool = False) -> None:
        """Sign and anchor what is new; an idle log when its last checkpoint is old."""
        log_signer = self._log_signer
        try:
            signed = await log_signer.sign(always=always, idle=self._heartbeat)
            failed = await log_signer.publish(signed.note) if signed is not None else {}
            if signed is not None:
                self.anchored |= {one.name: signed.size for one in log_signer.anchors if one.name not in failed}
            self._say("; ".join(f"anchor {name}: {why}" for name, why in failed.items()) or None)
        except AssentError as error:
            self._say(str(error))
        except Exception as error:  # the log is still whole: whatever this is, calls go on
            self._say(f"{type(error).__name__}: {error}")

    async def _keep_signing(self) -> None:
        await self.sign(always=True)
        while True:
            await asyncio.sleep(min(self._every, self._heartbeat))
            await self.sign()

    def _say(self, trouble: str | None) -> None:
        if trouble is not None and trouble != self.trouble:
            logger.error("audit log: %s", trouble)
        self.trouble = trouble
