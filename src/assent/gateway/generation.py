"""One configuration as the gateway runs it, and the one function that assembles it (ADR 0161)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from assent.config.model import Settings
from assent.core.catalogue import Catalogue
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.errors import StoreError
from assent.features import load_feature
from assent.gateway.connections import ConnectQuestion, UpstreamConnections
from assent.gateway.dispatch import Dispatcher
from assent.gateway.edge_ports import Rulebook, ports_of
from assent.gateway.endpoint import McpEndpoint
from assent.gateway.passthrough.non_tool import Passthrough
from assent.gateway.runtime import Runtime
from assent.gateway.served_tools import ServedTools
from assent.gateway.tool_service import ToolService
from assent.mcp.request_state import RequestStateCodec
from assent.pipeline.authorize import StopSwitches
from assent.pipeline.other_requests import OtherRequests
from assent.ports import Ports, Store
from assent.upstreams.link import UpstreamLink


@dataclass(frozen=True, slots=True, eq=False)
class Generation:
    """One configuration with the tools that were listed. It never changes: a request keeps the one it began with."""

    rulebook: Rulebook
    served: ServedTools
    catalogue: Catalogue
    ports: Ports
    others: OtherRequests
    tools: ToolService
    dispatcher: Dispatcher
    endpoint: McpEndpoint

    @property
    def settings(self) -> Settings:
        return self.rulebook.settings

    @property
    def links(self) -> Mapping[str, UpstreamLink]:
        return self.rulebook.links

    def public_scopes(self) -> list[str]:
        """The scopes of the tools that every caller may see."""
        public = [tool for tool in self.catalogue.tools.values() if tool.is_public]
        return sorted({scope for tool in public for scope in tool.contract.permissions})


def assemble(runtime: Runtime, rulebook: Rulebook, served: ServedTools, catalogue: Catalogue) -> Generation:
    """Makes a generation of a configuration and the tools that its upstreams listed."""
    connections = UpstreamConnections(rulebook.settings, rulebook.links, runtime.vault)
    ports = runtime.adapt(ports_of(runtime, rulebook, catalogue, connections))
    others = OtherRequests(ports)
    passthrough = Passthrough(runtime, rulebook.links, served, catalogue, others)
    authenticator = rulebook.authenticator
    tools = ToolService(
        ports,
        rulebook.links,
        RequestStateCodec(lambda: runtime.keyring.key("sealing"), time.time),
        server_info=passthrough.server_info(),
        metadata_url=authenticator.metadata_url(),
        add_duration=runtime.tally.add_duration,
        connect_question=ConnectQuestion(connections.exists),
        on_step_up=partial(_note_step_up, runtime.store) if authenticator.embedded is not None else None,
    )
    stopped = partial(_why_stopped, runtime.stop_switches, rulebook.links)
    dispatcher = Dispatcher(tools.listing, tools.call, passthrough.more(), stopped)
    endpoint = McpEndpoint(
        authenticate=authenticator.authenticate_at_mcp,
        recognize=authenticator.recognize,
        dispatcher=dispatcher,
        non_tool_handler=passthrough.non_tool_handler(),
        sessions=runtime.sessions,
        other=runtime.other,
        host_policy=authenticator.host_policy(),
        cors=authenticator.cors(),
        reauthenticate=runtime.reauthenticate,
        streams=runtime.streams,
    )
    return Generation(rulebook, served, catalogue, ports, others, tools, dispatcher, endpoint)


async def _why_stopped(stop_switches: StopSwitches, links: Mapping[str, UpstreamLink], caller: Principal) -> str | None:
    """Why requests beside tool calls are stopped, or None; a stop of one of several upstreams does not stop them."""
    alone = next(iter(links)) if len(links) == 1 else ""
    try:
        stop = (await stop_switches.current()).stop_for_messages(caller, alone)
    except StoreError:
        return "The stop switches cannot be read, so nothing is passed on. Try again later."
    return None if stop is None else stop.sentence()


async def _note_step_up(store: Store, caller: Principal, refusal: Refusal) -> None:
    """Remember in the store which sign-in a call of a person's agent needs."""
    if caller.bearer:
        with suppress(StoreError):  # The caller is refused in any case.
            await load_feature("pending_step_up").note_step_up(store, caller, refusal, time.time())
