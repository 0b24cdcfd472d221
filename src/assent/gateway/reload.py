"""Reloads the configuration while the gateway runs.

Changed files are used when they have stopped changing. All settings are checked first and then applied in one step.
Running calls keep the contract they started with.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from assent.config.model import Settings
from assent.config.rules import policy_files
from assent.contract.files import contract_paths
from assent.core.question import visible
from assent.errors import AssentError, Fault, SettingsError
from assent.gateway.app import GatewayApp
from assent.gateway.served_tools import Contracts, contracts_of

logger = logging.getLogger(__name__)

LOOK_EVERY = 1.0
SETTLE = 0.5
"""Seconds for which files must stay unchanged before they are read, so that half-written files are not used."""
VANISH_SETTLE = 5.0
"""The same where a contract is gone: tools would lose their rules because a program writes slowly."""
MOST_NAMED = 20
_MOST_PAUSES = 60
# A running gateway depends on these settings; changing them needs a restart.
_FIXED = ("store", "public_url", "secrets")

Load = Callable[[], Settings]
Pause = Callable[[float], Awaitable[object]]
Signature = tuple[tuple[str, int, int, int], ...]


class ConfigReloader:
    """Applies changes of the configuration files to a running gateway."""

    def __init__(
        self, gateway_app: GatewayApp, file: Path, load: Load, seen: Signature, *, pause: Pause = asyncio.sleep
    ) -> None:
        """`seen` was read together with the settings, so that no later change is missed."""
        self._gateway_app, self._file, self._load, self._seen, self._pause = gateway_app, file, load, seen, pause
        self._turn = asyncio.Lock()

    async def keep(self, every: float = LOOK_EVERY) -> None:
        """Checks the files at intervals, until cancelled."""
        while True:
            await asyncio.sleep(every)
            await self.look()

    async def look(self) -> None:
        """Reloads if a file changed and has settled. A broken file is tried again after its next change."""
        seen = await self._signature()
        if seen == self._seen:
            return
        for _ in range(_MOST_PAUSES):
            await self._pause(SETTLE)
            before, seen = seen, await self._signature()
            if seen == before:
                self._seen = seen
                await self.reload(settle=VANISH_SETTLE)
                return
        logger.warning("the new configuration is not used yet: its files keep changing")

    async def _signature(self) -> Signature:
        return await asyncio.to_thread(lambda: signature(watched_files(self._file, self._gateway_app.settings)))

    async def reload(self, settle: float = 0.0) -> bool:
        """Applies the files' current settings; if they are not valid, logs why and keeps the old ones.

        Contracts that are gone may be in the half of a file that is not written yet: then it waits for `settle`
        seconds, and uses the files if they have not changed.
        """
        used = await self._reload(settle)
        self._gateway_app.runtime.tally.count_reload(used)
        return used

    async def _reload(self, settle: float) -> bool:
        try:
            async with self._turn:
                before = await self._signature()
                settings = await asyncio.to_thread(self._load)
                check_fixed(self._gateway_app.settings, settings)
                contracts = await asyncio.to_thread(contracts_of, settings)
                gone = _gone(self._gateway_app.current.served.contracts, contracts)
                if gone and settle:
                    logger.warning("contracts are gone from the files: %s; waiting for %g seconds", gone, settle)
                    await self._pause(settle)
                if await self._signature() != before:
                    logger.warning("the new configuration is not used yet: a file changed while it was read")
                    return False
                await self._gateway_app.use(settings, contracts)
        except AssentError as error:
            return self._refuse(str(error))
        except Exception as error:
            logger.exception("the new configuration cannot be built")
            return self._refuse(type(error).__name__)
        self._gateway_app.refused_settings = ""
        if gone:
            logger.warning("contracts are no longer used, because they are gone from the files: %s", gone)
        logger.info("the new configuration is used: %d tools", len(self._gateway_app.current.catalogue.tools))
        return True

    def _refuse(self, why: str) -> bool:
        """Says that the old rules still run; the files are watched on."""
        logger.error("the new configuration is not used, and the old rules still run: %s", why)
        self._gateway_app.refused_settings = why
        return False


def _gone(before: Contracts, now: Contracts) -> str:
    """The names of contracts that no file has any more, in words; empty if there are none."""
    left = {(one.upstream, one.name) for one in now}
    gone = [one.name for one in before if (one.upstream, one.name) not in left]
    more = f" and {len(gone) - MOST_NAMED} more" if len(gone) > MOST_NAMED else ""
    return ", ".join(map(visible, gone[:MOST_NAMED])) + more


def check_fixed(old: Settings, new: Settings) -> None:
    """Refuses a change that needs a restart."""
    for name in _FIXED:
        if getattr(old, name) != getattr(new, name):
            raise SettingsError(Fault("this cannot change while the gateway runs", "Restart the gateway", name))
    if not new.upstreams:
        raise SettingsError(Fault("no upstream is configured", "`assent add` adds a server", "upstreams"))


def watched_files(file: Path, settings: Settings) -> list[Path]:
    """Every file that the configuration consists of."""
    found = [file]
    for pattern in settings.contracts:
        try:
            found += contract_paths([pattern])
        except AssentError:
            continue  # The last matching file was removed; the shorter list shows the change.
    if settings.policies:
        found += policy_files(settings)
    if settings.lock_file is not None:
        found.append(settings.lock_file)
    return found + [
        Path(one.openapi) for one in settings.upstreams.values() if one.openapi and "://" not in one.openapi
    ]


def signature(files: Iterable[Path]) -> Signature:
    """A value that changes when one of the files does, including when it appears or disappears."""
    found = []
    for path in files:
        try:
            stat = path.stat()
            found.append((str(path), stat.st_mtime_ns, stat.st_size, stat.st_ino))
        except OSError:
            found.append((str(path), 0, 0, 0))
    return tuple(found)
