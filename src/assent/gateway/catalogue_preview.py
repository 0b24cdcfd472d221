"""Asks every upstream once and lets it go: which tools a gateway would serve now, and which it would withhold."""

from __future__ import annotations

import asyncio

from assent.edges.api_links import OpenApiLink
from assent.settings import Settings
from assent.stock import LOAD_WITHIN, Stock
from assent.wiring import Link, Wiring


async def survey(settings: Settings, within: float = LOAD_WITHIN) -> Stock:
    """The catalogue, what is wrong with which upstream, and which contracts are bound to which tools."""
    links: dict[str, Link] = {}
    stock = Stock(settings, links, lambda: None, lambda name, before, now: None)
    wiring = Wiring()
    try:
        for name, upstream in settings.upstreams.items():
            links[name] = wiring.link(name, upstream, relayed=len(settings.upstreams) == 1)
        await asyncio.gather(*(_ask(stock, name, within) for name in links))
    finally:
        await asyncio.gather(*(link.close() for link in links.values() if not isinstance(link, OpenApiLink)))
        await wiring.close()
    return stock


async def _ask(stock: Stock, name: str, within: float) -> None:
    try:
        async with asyncio.timeout(within):
            await stock.refresh(name)
    except TimeoutError:
        stock.troubles[name] = "no answer in time"
