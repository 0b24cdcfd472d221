"""The methods other than tools as one configuration serves them: one server, made of all its upstreams."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Protocol

from assent.core.catalogue import Catalogue
from assent.core.principal import Principal
from assent.core.tool_mentions import Mentions, absent_mentions
from assent.gateway.dispatch import Serve
from assent.gateway.endpoint import NonToolHandler
from assent.gateway.hidden_text import HiddenText
from assent.gateway.passthrough.merged import MergedServer, MergedUpstream, NonToolSource
from assent.gateway.passthrough.non_tool import MergedSession
from assent.gateway.served_tools import ServedTools
from assent.gateway.sessions.notifications import Notifications
from assent.gateway.sessions.table import SessionTable
from assent.mcp.server_identity import ServerIdentity
from assent.pipeline.other_requests import OtherRequests
from assent.upstreams.link import UpstreamLink
from assent.upstreams.resources import merge_capabilities
from assent.upstreams.subscriptions import Subscriptions

MOST_INSTRUCTIONS = 16_384


class PassthroughParts(Protocol):
    """What a passthrough uses of the running gateway."""

    @property
    def sessions(self) -> SessionTable: ...

    @property
    def notifications(self) -> Notifications: ...

    @property
    def subscriptions(self) -> Mapping[str, Subscriptions]: ...

    @property
    def hidden_text(self) -> HiddenText: ...


class Passthrough:
    """Makes one server of the prompts, resources and other offers of all upstreams."""

    def __init__(
        self,
        runtime: PassthroughParts,
        links: Mapping[str, UpstreamLink],
        served: ServedTools,
        catalogue: Catalogue,
        others: OtherRequests,
    ) -> None:
        self._runtime, self._links, self._served = runtime, links, served
        self._catalogue, self._others = catalogue, others

    def non_tool_handler(self) -> NonToolHandler:
        return MergedSession(self._identity, self._runtime.sessions, absent=self._absent)

    def more(self) -> dict[str, Serve]:
        """The methods that all upstreams answer together."""
        return MergedServer(
            self._offers, self._runtime.notifications, self._absent, self._others, self._runtime.hidden_text
        ).methods()

    def server_info(self) -> dict[str, Any]:
        name, link = next(iter(self._links.items())) if len(self._links) == 1 else ("", None)
        info = link.described.info if link is not None and link.described else None
        return self._seen(name, info) if info else {"name": "assent", "version": version("assent")}

    def _seen(self, name: str, said: dict[str, Any]) -> dict[str, Any]:
        """What an upstream says of itself, as agents get it."""
        cleaned: dict[str, Any] = self._runtime.hidden_text.clean(name, said)
        return cleaned

    def _absent(self, caller: Principal) -> Mentions:
        """The mentions of tools that are hidden from this caller."""
        return absent_mentions(self._catalogue, caller)

    def _offers(self) -> list[MergedUpstream]:
        return [
            MergedUpstream(link, self._served.policy_of(name).canonical, self._runtime.subscriptions[name])
            for name, link in self._links.items()
            if isinstance(link, NonToolSource) and name in self._runtime.subscriptions
        ]

    def _identity(self) -> ServerIdentity:
        """The merged identity: the capabilities of all upstreams and the instructions of each."""
        described = {name: getattr(link, "described", None) for name, link in self._links.items()}
        known = {name: one for name, one in described.items() if one is not None}
        said = {
            name: {"instructions": one.instructions[:MOST_INSTRUCTIONS]}
            for name, one in known.items()
            if one.instructions
        }
        texts = {name: str(self._seen(name, one)["instructions"]) for name, one in said.items()}
        alone = len(self._links) == 1
        instructions = [text if alone else f"{name}: {text}" for name, text in texts.items()]
        capabilities = merge_capabilities([one.capabilities for one in known.values()])
        if alone:  # Extensions of one server among several could be taken for those of all.
            own = next(iter(known.values())).capabilities if known else {}
            capabilities |= {name: own[name] for name in ("extensions", "experimental") if name in own}
        return ServerIdentity(self.server_info(), capabilities, "\n\n".join(instructions)[:MOST_INSTRUCTIONS] or None)
