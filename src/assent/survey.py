"""Which tools would a gateway serve now, and which would it withhold? Every upstream is asked once and let go."""

from __future__ import annotations

import asyncio

from assent.core.catalogue import Catalogue
from assent.edges.api_links import OpenApiLink
from assent.settings import Settings
from assent.stock import LOAD_WITHIN, Stock
from assent.wiring import Link, Wiring


async def survey(settings: Settings) -> tuple[Catalogue, dict[str, str]]:
    """The catalogue, and what is wrong with which upstream."""
    links: dict[str, Link] = {}
    stock = Stock(settings, links, lambda: None, lambda name, before, now: None)
    wiring = Wiring()
    try:
        for name, upstream in settings.upstreams.items():
            links[name] = wiring.link(name, upstream, relayed=len(settings.upstreams) == 1)
        await asyncio.gather(*(_ask(stock, name) for name in links))
    finally:
        await asyncio.gather(*(link.close() for link in links.values() if not isinstance(link, OpenApiLink)))
        await wiring.close()
    return stock.catalogue, stock.troubles


async def _ask(stock: Stock, name: str) -> None:
    try:
        async with asyncio.timeout(LOAD_WITHIN):
            await stock.refresh(name)
    except TimeoutError:
        stock.troubles[name] = "no answer in time"
