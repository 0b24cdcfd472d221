"""Checks of the configuration before a gateway binds to a socket."""

from __future__ import annotations

import time
from collections.abc import Callable

from assent.config.model import Settings
from assent.errors import Fault, SettingsError
from assent.ports import Store
from assent.stores.inspect import schema_of
from assent.stores.open import open_store
from assent.web.http import is_loopback


async def has_stored_keys(settings: Settings) -> bool:
    """Whether the store has an API key that is not revoked. A store that does not exist yet is not created."""
    if (await schema_of(settings.store))[0] == 0:
        return False
    store = await open_store(settings.store)
    try:
        return await _keeps_keys(store)
    finally:
        await store.close()


async def has_no_credentials(settings: Settings, store: Store) -> bool:
    """Whether every call would be refused because no way to authenticate is configured."""
    auth = settings.auth
    known = auth.api_keys or auth.jwt or auth.embedded or auth.anonymous
    return not known and not await _keeps_keys(store)


async def _keeps_keys(store: Store) -> bool:
    return any(record.is_good(time.time()) for record in await store.keys())


def check_bind(settings: Settings, host: str, has_keys: Callable[[], bool] = lambda: False) -> None:
    """Refuses to bind an unauthenticated gateway to an address that other machines can reach.

    `has_keys` says whether the store has keys; it is called only when the answer matters.
    """
    if host == "localhost" or is_loopback(host):
        return
    anonymous = settings.auth.anonymous
    if anonymous is not None and not anonymous.tools:
        raise SettingsError(
            Fault(
                f"anonymous callers are not allowed on {host}",
                "Remove auth.anonymous, bind to 127.0.0.1, or name the tools they are offered in auth.anonymous.tools",
                "auth.anonymous",
            )
        )
    auth = settings.auth
    if not (auth.api_keys or auth.jwt or auth.embedded or anonymous) and not has_keys():
        raise SettingsError(
            Fault(
                f"other machines can reach {host}, and no authentication is configured",
                "Add auth.api_keys or auth.jwt, or create a key with: assent keys create",
                "auth",
            )
        )
