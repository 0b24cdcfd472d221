"""Loads the catalogue once, without serving it, for commands that only show it."""

from __future__ import annotations

import asyncio

from assent.config.model import Settings
from assent.gateway.catalogue import LOAD_TIMEOUT, ToolCatalogueLoader
from assent.gateway.upstream_factory import Link, UpstreamFactory
from assent.upstreams.openapi.link import OpenApiLink


async def preview_catalogue(settings: Settings, within: float = LOAD_TIMEOUT) -> ToolCatalogueLoader:
    """Loads every upstream once and returns the loader with its catalogue, problems and contract bindings."""
    links: dict[str, Link] = {}
    tool_loader = ToolCatalogueLoader(settings, links, lambda: None, lambda name, before, now: None)
    upstream_factory = UpstreamFactory()
    try:
        for name, upstream in settings.upstreams.items():
            links[name] = upstream_factory.link(name, upstream, relayed=len(settings.upstreams) == 1)
        await asyncio.gather(*(_load(tool_loader, name, within) for name in links))
    finally:
        await asyncio.gather(*(link.close() for link in links.values() if not isinstance(link, OpenApiLink)))
        await upstream_factory.close()
    return tool_loader


async def _load(tool_loader: ToolCatalogueLoader, name: str, within: float) -> None:
    try:
        async with asyncio.timeout(within):
            await tool_loader.refresh(name)
    except TimeoutError:
        tool_loader.troubles[name] = "it did not answer in time"
