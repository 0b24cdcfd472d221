"""What one or several upstreams look like as one server, beside their tools."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from importlib.metadata import version
from typing import Any, cast

from assent.core.principal import Principal
from assent.core.tool_mentions import Mentions, absent_mentions
from assent.gateway.catalogue import ToolCatalogueLoader
from assent.gateway.endpoint import NonToolHandler, Serve
from assent.gateway.monitor import UpstreamMonitor
from assent.gateway.passthrough.merged import MergedServer, MergedUpstream, NonToolSource
from assent.gateway.passthrough.non_tool import MergedSession, SingleUpstreamRelay
from assent.gateway.passthrough.relay import Relay
from assent.gateway.sessions.notifications import Notifications
from assent.gateway.sessions.table import SessionTable
from assent.gateway.upstream_factory import Link, UpstreamFactory
from assent.mcp.server_identity import ServerIdentity
from assent.upstreams.http.link import HttpLink
from assent.upstreams.resources import merge_capabilities

MOST_INSTRUCTIONS = 16_384


class PassthroughFactory:
    """One upstream behind a URL is relayed as it is; several are merged, and so is whatever cannot be relayed."""

    def __init__(
        self,
        links: Mapping[str, Link],
        tool_loader: ToolCatalogueLoader,
        upstream_factory: UpstreamFactory,
        upstream_monitor: UpstreamMonitor,
        sessions: SessionTable,
        notifications: Notifications,
    ) -> None:
        self._links, self._tool_loader, self._upstream_factory, self._upstream_monitor = (
            links,
            tool_loader,
            upstream_factory,
            upstream_monitor,
        )
        self._sessions, self._notifications = sessions, notifications

    def non_tool_handler(self) -> NonToolHandler:
        if self.relays():
            name = next(iter(self._links))
            calls, streams = self._upstream_factory.pools_of(name)
            test = self._upstream_factory.pools_of(f"{name} (test)")
            relay = Relay(test[0], test[1]) if test else None
            return SingleUpstreamRelay(Relay(calls, streams), self._sessions, self._notifications, relay, self._absent)
        return MergedSession(self._identity, self._sessions, absent=self._absent)

    def more(self) -> dict[str, Serve]:
        """The methods that are answered by all upstreams together."""
        return {} if self.relays() else MergedServer(self._offers, self._notifications, self._absent).methods()

    def relays(self) -> bool:
        """Whether everything but tools is relayed to the one upstream there is."""
        return len(self._links) == 1 and isinstance(next(iter(self._links.values())), HttpLink)

    def server_info(self) -> dict[str, Any]:
        described = next(iter(self._links.values())).described if len(self._links) == 1 else None
        return described.info if described and described.info else {"name": "assent", "version": version("assent")}

    def _absent(self, caller: Hashable) -> Mentions:
        """The tools of which this caller may read nothing."""
        return absent_mentions(self._tool_loader.catalogue, cast("Principal", caller))

    def _offers(self) -> list[MergedUpstream]:
        return [
            MergedUpstream(link, self._tool_loader.terms(name).canonical, self._upstream_monitor.ears[name])
            for name, link in self._links.items()
            if isinstance(link, NonToolSource) and name in self._upstream_monitor.ears
        ]

    def _identity(self) -> ServerIdentity:
        """Who we are before several: what they can do together, and what each wants to be said of it."""
        described = {name: getattr(link, "described", None) for name, link in self._links.items()}
        known = {name: one for name, one in described.items() if one is not None}
        said = [f"{name}: {one.instructions}" for name, one in known.items() if one.instructions]
        capabilities = merge_capabilities([one.capabilities for one in known.values()])
        return ServerIdentity(self.server_info(), capabilities, "\n\n".join(said)[:MOST_INSTRUCTIONS] or None)
