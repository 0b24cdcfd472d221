"""Signs the log of a running gateway at intervals."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from assent.audit.signer import EVERY, HEARTBEAT, AuditLogSigner
from assent.errors import AssentError

logger = logging.getLogger(__name__)


class PeriodicSigner:
    """Signs at the start, when there are new entries, at a heartbeat when idle, and at the end.

    A failure stops no call: it is logged once and tried again.
    """

    def __init__(self, log_signer: AuditLogSigner, every: float = EVERY, heartbeat: float = HEARTBEAT) -> None:
        self.follow(log_signer, every, heartbeat)
        self._task: asyncio.Task[None] | None = None
        self.trouble: str | None = None
        self.anchored: dict[str, int] = {}
        """The size of the newest checkpoint that each anchor took since the start."""

    def follow(self, log_signer: AuditLogSigner, every: float = EVERY, heartbeat: float = HEARTBEAT) -> None:
        """Use another signer and other intervals from now on, after a change of the configuration."""
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
        """Sign and anchor new entries; sign an idle log if its last checkpoint is old."""
        log_signer = self._log_signer
        try:
            signed = await log_signer.sign(always=always, idle=self._heartbeat)
            failed = await log_signer.publish(signed.note) if signed is not None else {}
            if signed is not None:
                self.anchored |= {one.name: signed.size for one in log_signer.anchors if one.name not in failed}
            self._log_once("; ".join(f"anchor {name}: {why}" for name, why in failed.items()) or None)
        except AssentError as error:
            self._log_once(str(error))
        except Exception as error:  # the entries are safe, so calls continue whatever failed
            self._log_once(f"{type(error).__name__}: {error}")

    async def _keep_signing(self) -> None:
        await self.sign(always=True)
        while True:
            await asyncio.sleep(min(self._every, self._heartbeat))
            await self.sign()

    def _log_once(self, trouble: str | None) -> None:
        if trouble is not None and trouble != self.trouble:
            logger.error("audit log: %s", trouble)
        self.trouble = trouble
