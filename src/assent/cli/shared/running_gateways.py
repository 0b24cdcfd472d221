"""Finds the gateways that run on a store."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

from assent.people.console.start import kept_addresses, kept_mark
from assent.stores.inspect import schema_of
from assent.stores.open import open_store

if TYPE_CHECKING:
    from assent.config.model import Settings
    from assent.ports import Store


async def gateways_of(settings: Settings) -> list[str]:
    """The addresses of the gateways on the configured store, which is not created if it does not exist."""
    if (await schema_of(settings.store))[0] == 0:
        return []
    store = await open_store(settings.store)
    try:
        return await running_gateways(store, settings.public_url)
    finally:
        await store.close()


async def running_gateways(store: Store, *more: str) -> list[str]:
    """The addresses at which a gateway on this store answers, the newest first; `more` are tried too."""
    if not (mark := await kept_mark(store)):
        return []
    addresses = list(dict.fromkeys([*await kept_addresses(store), *(one.rstrip("/") for one in more)]))
    found = await asyncio.gather(*(asyncio.to_thread(answers, address, mark) for address in addresses))
    return [address for address, answered in zip(addresses, found, strict=True) if answered]


def answers(address: str, mark: str | None = None) -> bool:
    """Whether something answers like a gateway at an address; with a mark, only one on the store of that mark."""
    try:
        with urllib.request.urlopen(f"{address.rstrip('/')}/healthz", timeout=3) as response:
            return response.status == 200 and mark in (None, response.headers.get("assent-store"))
    except (urllib.error.URLError, OSError, ValueError):
        return False
