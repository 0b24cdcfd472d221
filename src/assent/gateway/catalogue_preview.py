"""Loads the tools of a configuration once, without serving them, for commands that only show them.

Upstreams that people have connected are asked with the kept credentials, as the gateway asks them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assent.config.model import Settings, UpstreamSettings
from assent.core.catalogue import Catalogue
from assent.core.first_sight import SeenServer
from assent.core.secret_keys import Keyring
from assent.gateway.build import make_link
from assent.gateway.catalogue_refresh import LOAD_TIMEOUT, CatalogueLoader, Serving
from assent.gateway.first_sight import id_of, seen_servers
from assent.gateway.served_tools import Definitions, ServedTools, compile_served, contracts_of, finish
from assent.gateway.upstream_factory import UpstreamFactory
from assent.stores.inspect import schema_of
from assent.stores.open import open_store
from assent.upstreams.link import UpstreamLink
from assent.upstreams.vault import CredentialVault


@dataclass(frozen=True, slots=True)
class CataloguePreview:
    """The tools of a configuration, and the problem of each upstream that did not answer."""

    served: ServedTools
    catalogue: Catalogue
    troubles: Mapping[str, str]
    links: Mapping[str, UpstreamLink]


async def preview_catalogue(settings: Settings, within: float = LOAD_TIMEOUT) -> CataloguePreview:
    """Loads every upstream once."""
    async with _connected(settings) as upstream_factory:
        links = {name: make_link(upstream_factory, settings, name) for name in settings.upstreams}
        shown = [finish(compile_served(settings, contracts_of(settings), None, {}, links))]
        seen = await _load_seen_servers(settings)

        async def pinned(name: str, upstream: UpstreamSettings, found: Definitions) -> SeenServer:
            id = id_of(name, upstream)
            return seen.get(id, SeenServer(name, {}, id)).note(found, time.time())

        loader = CatalogueLoader(Serving(lambda: shown[-1], lambda: links, shown.append, lambda *_: None, pinned))

        async def load(name: str) -> None:
            try:
                async with asyncio.timeout(within):
                    await loader.refresh(name)
            except TimeoutError:
                loader.troubles[name] = "it did not answer in time"

        try:
            await asyncio.gather(*map(load, links))
        finally:
            await upstream_factory.close_all(links.values())
    return CataloguePreview(shown[-1], shown[-1].catalogue(), loader.troubles, links)


async def list_connected(name: str, settings: Settings) -> list[dict[str, Any]]:
    """The definitions that an upstream lists to the gateway; raises UpstreamError if it does not."""
    async with _connected(settings) as upstream_factory:
        link = make_link(upstream_factory, settings, name)
        try:
            return await link.load()
        finally:
            await upstream_factory.close_all([link])


async def _load_seen_servers(settings: Settings) -> dict[str, SeenServer]:
    """What gateways have seen of each server, by its id. Nothing is written."""
    if settings.store.startswith("memory:") or not (await schema_of(settings.store))[0]:
        return {}
    store = await open_store(settings.store)
    try:
        return {one.id: one for one in await seen_servers(store)}
    finally:
        await store.close()


@asynccontextmanager
async def _connected(settings: Settings) -> AsyncIterator[UpstreamFactory]:
    """A factory of links with the credentials of the store, which is not created if it does not exist."""
    needed = any(one.auth is not None for one in settings.upstreams.values())
    kept = needed and (await schema_of(settings.store))[0] > 0
    store = await open_store(settings.store if kept else "memory://")
    keyring = Keyring(Path(settings.secrets.directory))
    try:
        yield UpstreamFactory(CredentialVault(store, lambda: keyring.key("sealing"), time.time))
    finally:
        await store.close()
