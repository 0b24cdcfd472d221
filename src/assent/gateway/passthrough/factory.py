"""Creates the handler of non-tool methods: a relay for one upstream, a merge of several."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

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
from assent.pipeline.other_requests import OtherRequests
from assent.upstreams.http.link import HttpLink
from assent.upstreams.resources import merge_capabilities

MOST_INSTRUCTIONS = 16_384


class PassthroughFactory:
    """Relays a single HTTP upstream unchanged, and merges any other set of upstreams into one server."""

    def __init__(
        self,
        links: Mapping[str, Link],
        tool_loader: ToolCatalogueLoader,
        upstream_factory: UpstreamFactory,
        upstream_monitor: UpstreamMonitor,
        sessions: SessionTable,
        notifications: Notifications,
        other_requests: OtherRequests,
    ) -> None:
        self._links, self._tool_loader = links, tool_loader
        self._upstream_factory, self._upstream_monitor = upstream_factory, upstream_monitor
        self._sessions, self._notifications, self._others = sessions, notifications, other_requests

    def non_tool_handler(self) -> NonToolHandler:
        if self.relays():
            name = next(iter(self._links))
            calls, streams = self._upstream_factory.pools_of(name)
            test = self._upstream_factory.pools_of(f"{name} (test)")
            relay = Relay(test[0], test[1]) if test else None
            return SingleUpstreamRelay(
                Relay(calls, streams),
                self._sessions,
                self._notifications,
                relay,
                self._absent,
                self._others,
                name,
                self._tool_loader.hidden_text,
            )
        return MergedSession(self._identity, self._sessions, absent=self._absent)

    def more(self) -> dict[str, Serve]:
        """The methods that all upstreams answer together."""
        if self.relays():
            return {}
        hidden_text = self._tool_loader.hidden_text
        return MergedServer(self._offers, self._notifications, self._absent, self._others, hidden_text).methods()

    def relays(self) -> bool:
        """Whether non-tool methods are relayed to the only upstream."""
        link = next(iter(self._links.values()), None)
        return len(self._links) == 1 and isinstance(link, HttpLink) and link.relayed

    def server_info(self) -> dict[str, Any]:
        name, link = next(iter(self._links.items())) if len(self._links) == 1 else ("", None)
        info = link.described.info if link is not None and link.described else None
        return self._seen(name, info) if info else {"name": "assent", "version": version("assent")}

    def _seen(self, name: str, said: dict[str, Any]) -> dict[str, Any]:
        """What an upstream says of itself, as agents get it."""
        cleaned: dict[str, Any] = self._tool_loader.hidden_text.clean(name, said)
        return cleaned

    def _absent(self, caller: Principal) -> Mentions:
        """The mentions of tools that are hidden from this caller."""
        return absent_mentions(self._tool_loader.catalogue, caller)

    def _offers(self) -> list[MergedUpstream]:
        return [
            MergedUpstream(
                link, self._tool_loader.upstream_policy(name).canonical, self._upstream_monitor.subscriptions[name]
            )
            for name, link in self._links.items()
            if isinstance(link, NonToolSource) and name in self._upstream_monitor.subscriptions
        ]

    def _identity(self) -> ServerIdentity:
        """The merged identity: the capabilities of all upstreams and the instructions of each."""
        described = {name: getattr(link, "described", None) for name, link in self._links.items()}
        known = {name: one for name, one in described.items() if one is not None}
        said = {name: {"instructions": one.instructions} for name, one in known.items() if one.instructions}
        instructions = [f"{name}: {self._seen(name, one)['instructions']}" for name, one in said.items()]
        capabilities = merge_capabilities([one.capabilities for one in known.values()])
        return ServerIdentity(self.server_info(), capabilities, "\n\n".join(instructions)[:MOST_INSTRUCTIONS] or None)
