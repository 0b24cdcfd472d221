"""Reloads the configuration while the gateway runs.

Files are used when they have stopped changing. All of it is checked first; then one swap without a pause in it. Calls
under way keep the contract they began with.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from assent.config.model import Settings
from assent.contract.files import contract_paths
from assent.errors import AssentError, Fault, SettingsError
from assent.gateway.app import GatewayApp
from assent.gateway.catalogue import contracts_of

logger = logging.getLogger(__name__)

LOOK_EVERY = 1.0
SETTLE = 0.5
"""Seconds for which files must stay as they are before they are read: one that is being written is not used."""
_MOST_PAUSES = 60
# What a running gateway is built on: changed only by starting it anew.
_FIXED = ("store", "public_url", "secrets")

Load = Callable[[], Settings]
Pause = Callable[[float], Awaitable[object]]
Signature = tuple[tuple[str, int, int, int], ...]


class ConfigReloader:
    """Keeps a running gateway to what its files say."""

    def __init__(
        self, gateway_app: GatewayApp, file: Path, load: Load, seen: Signature, *, pause: Pause = asyncio.sleep
    ) -> None:
        """`seen` was taken with the settings, so that no change in between is missed."""
        self._gateway_app, self._file, self._load, self._seen, self._pause = gateway_app, file, load, seen, pause
        self._turn = asyncio.Lock()

    async def keep(self, every: float = LOOK_EVERY) -> None:
        """Look at the files now and then, for ever."""
        while True:
            await asyncio.sleep(every)
            await self.look()

    async def look(self) -> None:
        """Reload if a file changed and has settled. A broken one is tried again when it changes again."""
        seen = await self._signature()
        if seen == self._seen:
            return
        for _ in range(_MOST_PAUSES):
            await self._pause(SETTLE)
            before, seen = seen, await self._signature()
            if seen == before:
                self._seen = seen
                await self.reload()
                return
        logger.warning("the new configuration is not used yet: its files do not stop changing")

    async def _signature(self) -> Signature:
        return await asyncio.to_thread(lambda: signature(watched_files(self._file, self._gateway_app.settings)))

    async def reload(self) -> bool:
        """Use what the files say now; if they do not hold, say why and go on as before."""
        used = await self._reload()
        self._gateway_app.tally.reloaded(used)
        return used

    async def _reload(self) -> bool:
        try:
            async with self._turn:
                before = await self._signature()
                settings = await asyncio.to_thread(self._load)
                check_fixed(self._gateway_app.settings, settings)
                contracts = await asyncio.to_thread(contracts_of, settings)
                if await self._signature() != before:
                    logger.warning("the new configuration is not used yet: a file changed while it was read")
                    return False
                await self._gateway_app.apply_settings(settings, contracts)
        except AssentError as error:
            logger.error("the new configuration is not used: %s", error)
            return False
        except Exception:
            logger.exception("the new configuration is not used")
            return False
        logger.info("the new configuration is used: %d tools", len(self._gateway_app.catalogue().tools))
        return True


def check_fixed(old: Settings, new: Settings) -> None:
    """Refuse a change that a running gateway cannot make."""
    for name in _FIXED:
        if getattr(old, name) != getattr(new, name):
            raise SettingsError(Fault("this cannot change while the gateway runs", "Restart it", name))
    if not new.upstreams:
        raise SettingsError(Fault("there is nothing to serve", "Name a server", "upstreams"))


def watched_files(file: Path, settings: Settings) -> list[Path]:
    """Every file that the configuration is made of."""
    found = [file]
    for pattern in settings.contracts:
        try:
            found += contract_paths([pattern])
        except AssentError:
            continue  # the last of them was removed, which shows in the list being shorter
    if settings.pins is not None:
        found.append(Path(settings.pins))
    return found + [
        Path(one.openapi) for one in settings.upstreams.values() if one.openapi and "://" not in one.openapi
    ]


def signature(files: Iterable[Path]) -> Signature:
    """What changes when one of the files does; a missing one has a signature too."""
    found = []
    for path in files:
        try:
            stat = path.stat()
            found.append((str(path), stat.st_mtime_ns, stat.st_size, stat.st_ino))
        except OSError:
            found.append((str(path), 0, 0, 0))
    return tuple(found)
