"""Signs the log of a running gateway at intervals."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from assent.audit.signed_log import EVERY, HEARTBEAT, AuditLogSigner
from assent.errors import AssentError

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SigningPlan:
    """Who signs the log, how often, and how old the last signature of an idle log may become."""

    log_signer: AuditLogSigner
    every: float = EVERY
    heartbeat: float = HEARTBEAT


class PeriodicSigner:
    """Signs at the start, when there are new entries, at a heartbeat when idle, and at the end.

    A failure stops no call: it is logged once and tried again.
    """

    def __init__(self, plan: Callable[[], SigningPlan]) -> None:
        """`plan` is asked before each signature, so that a changed configuration is followed."""
        self._plan = plan
        self._task: asyncio.Task[None] | None = None
        self.trouble: str | None = None
        self.anchored: dict[str, int] = {}
        """The size of the newest checkpoint that each anchor took since the start."""

    @property
    def log_signer(self) -> AuditLogSigner:
        return self._plan().log_signer

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
        plan = self._plan()
        log_signer = plan.log_signer
        try:
            signed = await log_signer.sign(always=always, idle=plan.heartbeat)
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
            plan = self._plan()
            await asyncio.sleep(min(plan.every, plan.heartbeat))
            await self.sign()

    def _log_once(self, trouble: str | None) -> None:
        if trouble is not None and trouble != self.trouble:
            logger.error("audit log: %s", trouble)
        self.trouble = trouble
