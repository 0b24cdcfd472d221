"""One configuration as the gateway runs it, and the one function that assembles it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from assent.audit.periodic_signer import SigningPlan
from assent.config.keyring import Keyring
from assent.config.model import Settings
from assent.config.rules import rules_of
from assent.core.approval import Approval
from assent.core.catalogue import Catalogue, is_public
from assent.core.open_questions import OpenQuestions
from assent.core.principal import Principal
from assent.errors import StoreError
from assent.gateway.audit_evidence import LogEvidence
from assent.gateway.auth.authenticator import Authenticator
from assent.gateway.auth.step_up_note import StepUpNote
from assent.gateway.call_lines import CallLines
from assent.gateway.connections import ConnectQuestion, UpstreamConnections
from assent.gateway.dispatch import Dispatcher
from assent.gateway.endpoint import MOST_STREAMS_OF_ONE, Authenticate, McpEndpoint
from assent.gateway.fair_share import Places
from assent.gateway.hidden_text import HiddenText
from assent.gateway.metrics import CallCounters
from assent.gateway.passthrough.factory import Passthrough
from assent.gateway.real_paths import RealPaths
from assent.gateway.served_tools import ServedTools
from assent.gateway.sessions.notifications import Notifications
from assent.gateway.sessions.table import SessionTable
from assent.gateway.tool_service import ToolService
from assent.gateway.upstream_factory import UpstreamFactory
from assent.mcp.request_state import RequestStateCodec
from assent.pipeline.other_requests import OtherRequests
from assent.pipeline.ports_factory import make_ports
from assent.pipeline.stop_switches import StopSwitches
from assent.ports import Ports, Store, Work
from assent.upstreams.link import UpstreamLink
from assent.upstreams.subscriptions import Subscriptions
from assent.upstreams.vault import CredentialVault
from assent.web.asgi import App


def same_ports(ports: Ports) -> Ports:
    return ports


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """What a gateway shares with the others of its process, and whose environment its child processes get."""

    store: Store | None = None
    """A store that stays open when the gateway stops."""
    flow: Any = None
    """Flow control whose conversations this gateway continues."""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    umask: int = -1


@dataclass(frozen=True, slots=True, eq=False)
class Runtime:
    """What lives as long as the process, whatever the configuration: the store, its keys, sessions and counters."""

    store: Store
    keyring: Keyring
    vault: CredentialVault
    upstream_factory: UpstreamFactory
    work: Work
    evidence: LogEvidence | None
    stop_switches: StopSwitches
    sessions: SessionTable
    notifications: Notifications
    subscriptions: Mapping[str, Subscriptions]
    reauthenticate: Authenticate
    """Authenticates the caller of an open stream again, by the configuration that is current then."""
    other: App
    """Every path that is not the MCP endpoint's."""
    adapt: Callable[[Ports], Ports] = same_ports
    """How the door in front of this gateway changes the ports: `assent wrap` has no page, tests have another clock."""
    tally: CallCounters = field(default_factory=CallCounters)
    call_lines: CallLines | None = None
    """Tells the person who runs the gateway of calls that wait or were refused."""
    hidden_text: HiddenText = field(default_factory=HiddenText)
    questions: OpenQuestions = field(default_factory=OpenQuestions)
    streams: Places = field(default_factory=lambda: Places(MOST_STREAMS_OF_ONE))


@dataclass(frozen=True, slots=True, eq=False)
class Rulebook:
    """What a configuration decides, apart from the tools that its upstreams list."""

    settings: Settings
    links: Mapping[str, UpstreamLink]
    policies: Any
    """The Cedar policies, or None."""
    flow: Any
    """Flow control, or None."""
    authenticator: Authenticator
    notifier: Any
    """Tells people of approvals that wait, or None."""
    signing: SigningPlan | None


@dataclass(frozen=True, slots=True, eq=False)
class Generation:
    """One configuration with the tools that were listed. It never changes: a request keeps the one it began with."""

    rulebook: Rulebook
    served: ServedTools
    catalogue: Catalogue
    ports: Ports
    others: OtherRequests
    passthrough: Passthrough
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
        public = [tool for tool in self.catalogue.tools.values() if is_public(tool)]
        return sorted({scope for tool in public for scope in tool.contract.permissions})


def assemble(runtime: Runtime, rulebook: Rulebook, served: ServedTools, catalogue: Catalogue) -> Generation:
    """Makes a generation of a configuration and the tools that its upstreams listed."""
    ports = runtime.adapt(_make_ports(runtime, rulebook, catalogue))
    others = OtherRequests(ports)
    passthrough = Passthrough(runtime, rulebook.links, served, catalogue, others)
    authenticator, connections = rulebook.authenticator, _connections(runtime, rulebook)
    tools = ToolService(
        ports,
        rulebook.links,
        RequestStateCodec(lambda: runtime.keyring.key("sealing"), time.time),
        server_info=passthrough.server_info(),
        metadata_url=authenticator.metadata_url(),
        add_duration=runtime.tally.add_duration,
        connect_question=ConnectQuestion(connections.exists),
        on_step_up=StepUpNote(runtime.store).write if authenticator.embedded is not None else None,
    )
    stopped = MessageStops(runtime.stop_switches, rulebook.links).why
    dispatcher = Dispatcher(tools.listing, tools.call, passthrough.more(), stopped)
    endpoint = McpEndpoint(
        authenticate=authenticator.authenticate_at_mcp,
        dispatcher=dispatcher,
        non_tool_handler=passthrough.non_tool_handler(),
        sessions=runtime.sessions,
        other=runtime.other,
        host_policy=authenticator.host_policy(),
        cors=authenticator.cors(),
        reauthenticate=runtime.reauthenticate,
        streams=runtime.streams,
    )
    return Generation(rulebook, served, catalogue, ports, others, passthrough, tools, dispatcher, endpoint)


def _connections(runtime: Runtime, rulebook: Rulebook) -> UpstreamConnections:
    return UpstreamConnections(rulebook.settings, rulebook.links, runtime.vault)


def _make_ports(runtime: Runtime, rulebook: Rulebook, catalogue: Catalogue) -> Ports:
    settings = rulebook.settings

    def page(path: str) -> str | None:
        return f"{settings.public_url.rstrip('/')}/console/{path}"

    return make_ports(
        runtime.store,
        catalogue.itself,
        work=runtime.work,
        derive_key=runtime.keyring.derive,
        keyed_hash=runtime.keyring.keyed_hash,
        stops=runtime.stop_switches.look,
        questions=runtime.questions,
        page=page,
        leads_to=RealPaths(settings).of,
        seen=runtime.tally.count_call,
        evidence=runtime.evidence,
        connect=_connections(runtime, rulebook).needed,
        rules=rules_of(settings, rulebook.policies, rulebook.flow),
        waiting=Announcement(runtime.call_lines, rulebook.notifier, page).offer,
    )


@dataclass(frozen=True, slots=True)
class Announcement:
    """Tells of an approval that waits: in the log, and by the configured channels."""

    call_lines: CallLines | None
    notifier: Any
    page: Callable[[str], str | None]

    def offer(self, approval: Approval) -> None:
        if self.call_lines is not None:
            self.call_lines.waits(approval, self.page(f"approvals/{approval.id}"))
        if self.notifier is not None:
            self.notifier.offer(approval)


@dataclass(frozen=True, slots=True)
class MessageStops:
    """Stops requests beside tool calls; a stop of one of several upstreams does not stop them."""

    stop_switches: StopSwitches
    links: Mapping[str, UpstreamLink]

    async def why(self, caller: Principal) -> str | None:
        """Why a caller's requests are stopped, or None."""
        alone = next(iter(self.links)) if len(self.links) == 1 else ""
        try:
            stop = (await self.stop_switches.current()).stop_for_messages(caller, alone)
        except StoreError:
            return "The stop switches cannot be read, so nothing is passed on. Try again later."
        return None if stop is None else stop.said()
