"""What one or several upstreams look like as one server, beside their tools."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from importlib.metadata import version
from typing import Any, cast

from assent.attention import Attention
from assent.core.mentions import Mentions, absent_mentions
from assent.core.principal import Principal
from assent.edges.gateway import Passage, Serve
from assent.edges.http_links import HttpLink
from assent.edges.merged import Merged, Offer, Source
from assent.edges.notices import Notices
from assent.edges.passages import Identity, OwnPassage, RelayPassage
from assent.edges.relay import Relay
from assent.edges.sessions import SessionTable
from assent.edges.shelves import union_of
from assent.stock import Stock
from assent.wiring import Link, Wiring

MOST_INSTRUCTIONS = 16_384


class Facade:
    """One upstream behind a URL is relayed as it is; several are merged, and so is whatever cannot be relayed."""

    def __init__(
        self,
        links: Mapping[str, Link],
        stock: Stock,
        wiring: Wiring,
        attention: Attention,
        sessions: SessionTable,
        notices: Notices,
    ) -> None:
        self._links, self._stock, self._wiring, self._attention = links, stock, wiring, attention
        self._sessions, self._notices = sessions, notices

    def passage(self) -> Passage:
        if self.relays():
            name = next(iter(self._links))
            calls, streams = self._wiring.pools_of(name)
            test = self._wiring.pools_of(f"{name} (test)")
            relay = Relay(test[0], test[1]) if test else None
            return RelayPassage(Relay(calls, streams), self._sessions, self._notices, relay, self._absent)
        return OwnPassage(self._identity, self._sessions, absent=self._absent)

    def more(self) -> dict[str, Serve]:
        """The methods that are answered by all upstreams together."""
        return {} if self.relays() else Merged(self._offers, self._notices, self._absent).methods()

    def relays(self) -> bool:
        """Whether everything but tools is relayed to the one upstream there is."""
        return len(self._links) == 1 and isinstance(next(iter(self._links.values())), HttpLink)

    def server_info(self) -> dict[str, Any]:
        described = next(iter(self._links.values())).described if len(self._links) == 1 else None
        return described.info if described and described.info else {"name": "assent", "version": version("assent")}

    def _absent(self, caller: Hashable) -> Mentions:
        """The tools of which this caller may read nothing."""
        return absent_mentions(self._stock.catalogue, cast("Principal", caller))

    def _offers(self) -> list[Offer]:
        return [
            Offer(link, self._stock.terms(name).canonical, self._attention.ears[name])
            for name, link in self._links.items()
            if isinstance(link, Source) and name in self._attention.ears
        ]

    def _identity(self) -> Identity:
        """Who we are before several: what they can do together, and what each wants to be said of it."""
        described = {name: getattr(link, "described", None) for name, link in self._links.items()}
        known = {name: one for name, one in described.items() if one is not None}
        said = [f"{name}: {one.instructions}" for name, one in known.items() if one.instructions]
        capabilities = union_of([one.capabilities for one in known.values()])
        return Identity(self.server_info(), capabilities, "\n\n".join(said)[:MOST_INSTRUCTIONS] or None)
