"""The gateway application: builds its parts, applies configuration changes and shuts down."""

from __future__ import annotations

import asyncio
import logging
import secrets as random
import shlex
import time
from contextlib import suppress
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from assent.config.anchors import log_signer_of, periodic_signer_of
from assent.config.flow import flow_control
from assent.config.keyring import Keyring
from assent.config.model import Settings
from assent.config.policies import policies_of, policy_faults, port_settings
from assent.core.call import Call
from assent.core.catalogue import Catalogue, is_public
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.core.tool import Tool
from assent.errors import Fault, SettingsError, StoreError
from assent.gateway.audit_evidence import LogEvidence
from assent.gateway.auth.authenticator import Authenticator
from assent.gateway.auth.host_origin import HostOriginPolicy
from assent.gateway.catalogue import Contracts, Definitions, ToolCatalogueLoader, contracts_of, tools_of
from assent.gateway.config_audit import ConfigAuditLog
from assent.gateway.connect_question import ConnectQuestion
from assent.gateway.endpoint import McpEndpoint
from assent.gateway.metrics import CallCounters, GatewayStatus, render
from assent.gateway.monitor import UpstreamMonitor
from assent.gateway.notify.notifier import Notifier
from assent.gateway.passthrough.factory import PassthroughFactory
from assent.gateway.real_paths import real_paths
from assent.gateway.recent_calls import RecentCalls
from assent.gateway.sessions.notifications import LISTS_CHANGED, TOOLS_CHANGED, Notifications
from assent.gateway.sessions.table import SessionTable
from assent.gateway.state import GatewayState
from assent.gateway.tool_service import ToolService
from assent.gateway.upstream_factory import Link, UpstreamFactory
from assent.mcp.request_state import RequestStateCodec
from assent.pipeline.effects import EffectRunner
from assent.pipeline.other_requests import OtherRequests
from assent.pipeline.ports_factory import make_ports
from assent.pipeline.stop_switches import StopSwitches
from assent.ports import ConnectionNeeded, Ports, Store
from assent.stores.open import open_store
from assent.stores.probe import StoreProbe
from assent.upstreams.http.address import BadAddress
from assent.upstreams.http.link import HttpLink
from assent.upstreams.oauth.client_metadata import CALLBACK_PATH, client_metadata
from assent.upstreams.oauth.owner import owner_of
from assent.upstreams.oauth.vault import CredentialVault
from assent.upstreams.openapi.link import OpenApiLink
from assent.upstreams.stdio.link import StdioLink
from assent.web.asgi import App, Headers, LazyApp, Scope

if TYPE_CHECKING:
    from assent.policy.engine import PolicyEngine

logger = logging.getLogger(__name__)

DRAIN = 10.0
PATH_TIMEOUT = 5.0


class GatewayApp:
    """One running gateway: its upstreams, catalogue, sessions and endpoints."""

    def __init__(self, settings: Settings, store: Store, mark: str = "") -> None:
        """`mark` is what routes an answer to this process, if it is one of several workers (`2~`)."""
        self.settings, self.store, self._mark = settings, store, mark
        self.policies = policies_of(settings)
        self._told_faults: set[str] = set()
        self.keyring = Keyring(Path(settings.secrets.directory))
        self.links: dict[str, Link] = {}
        self.config_log = ConfigAuditLog(store.append, time.time, self.keyring.keyed_hash)
        self.tool_loader = ToolCatalogueLoader(
            settings, self.links, self._publish_tools_changed, self.config_log.record_tools
        )
        self.vault = CredentialVault(store, lambda: self.keyring.key("sealing"), time.time)
        self.upstream_factory = UpstreamFactory(self.vault)
        alone = len(settings.upstreams) == 1
        for name, upstream in settings.upstreams.items():
            self.links[name] = self.upstream_factory.link(
                name, upstream, relayed=alone, provider=_provider_of(settings)
            )
        self.loaded = asyncio.Event()
        retention = settings.defaults.idempotency.retention
        self.work = EffectRunner(store, time.time, retention=retention, keyed_hash=self.keyring.keyed_hash)
        self.probe = StoreProbe(store, time.time)
        self.tally = CallCounters()
        self.stop_switches = StopSwitches(store)
        self.notifier = self._make_notifier(settings)
        self.authenticator = Authenticator(settings, store, self._public_scopes)
        self.signing = periodic_signer_of(settings, store)
        self.evidence = None if self.signing is None else LogEvidence(store, self.signing, time.time)
        self.flow = flow_control(settings)
        self.ports = self._make_ports()
        self.other_requests = OtherRequests(lambda: self.ports)
        self.sessions = SessionTable(time.monotonic, lambda: random.token_urlsafe(24), who=_identity_of)
        self.notifications = Notifications(self.sessions)
        self.upstream_monitor = UpstreamMonitor(
            self.tool_loader.refresh, lambda name: name in self.tool_loader.troubles, self._publish
        )
        self.passthrough_factory = PassthroughFactory(
            self.links,
            self.tool_loader,
            self.upstream_factory,
            self.upstream_monitor,
            self.sessions,
            self.notifications,
            self.other_requests,
        )
        self.state = GatewayState(
            lambda: self.settings,
            self.tool_loader,
            self.upstream_factory,
            self.tally,
            self.stop_switches,
            RecentCalls(store),
            self.authenticator.keys,
            self.vault,
            self._public_scopes,
        )
        self._gateway: McpEndpoint | None = None

    def catalogue(self) -> Catalogue:
        return self.tool_loader.catalogue

    async def start(self) -> None:
        """Loads the tools of every upstream. An upstream that does not answer is retried and delays no other.

        Raises SettingsError if `without_contract: error` is set and a tool has no contract; call `stop` then.
        """
        self.keyring.make_all()
        await asyncio.gather(*(self.tool_loader.refresh(name) for name in self.links))
        self.tool_loader.check_contracts()
        if faults := self._policy_faults():
            raise SettingsError(faults)
        self.tool_loader.log_unchecked_contracts()
        self._record_settings("configuration.started")
        self.loaded.set()
        self.notifier.start()
        if self.signing is not None:
            self.signing.start()
        for name in self.links:
            self.upstream_monitor.begin(name, self.links[name])

    async def stop(self, within: float = DRAIN) -> int:
        """Waits for running effects, up to a limit, and returns how many were left in doubt."""
        await self.close_streams()
        await self.notifier.stop()
        await self.upstream_monitor.end()
        left = await self.work.drain(within)
        await asyncio.gather(*(link.close() for link in self.links.values() if isinstance(link, HttpLink)))
        await self.upstream_factory.close()
        with suppress(StoreError):
            self.authenticator.failed_auth.write()
        await asyncio.gather(*(link.close() for link in self.links.values() if isinstance(link, StdioLink)))
        if self.evidence is not None:
            await self.evidence.close()
        if self.signing is not None:
            await self.signing.stop()
        await self.store.close()
        return left

    async def close_streams(self) -> None:
        """Ends the long-lived streams; calls continue."""
        self.notifications.end()
        await self.upstream_factory.close_streams()

    async def reload(self, name: str) -> None:
        """Loads the tools of one upstream now."""
        await self.tool_loader.refresh(name)

    async def apply_settings(self, settings: Settings, contracts: Contracts | None = None) -> None:
        """Applies new settings atomically; on error raises with every fault and keeps the old settings.

        `contracts` are the contracts of these settings if they are already loaded. New upstreams are loaded before
        the switch; removed ones finish their running calls.
        """
        contracts = contracts_of(settings) if contracts is None else contracts
        old_policies, policies = self.policies, await asyncio.to_thread(policies_of, settings)
        log_signer, notifier = log_signer_of(settings, self.store), self._make_notifier(settings)
        same_provider = _provider_of(settings) == _provider_of(self.settings)
        kept = {
            name: one
            for name, one in settings.upstreams.items()
            if self.settings.upstreams.get(name) == one and (same_provider or one.oauth.exchange is None)
        }
        before, pools = dict(self.links), list(self.upstream_factory.pools)
        fresh: dict[str, Link] = {}
        try:
            for name, one in settings.upstreams.items():
                if name not in kept:
                    fresh[name] = self.upstream_factory.link(
                        name, one, relayed=len(settings.upstreams) == 1, provider=_provider_of(settings)
                    )
            loaded = dict(zip(fresh, await asyncio.gather(*map(tools_of, fresh.values())), strict=True))
            self.tool_loader.check(settings, contracts, fresh, loaded, policies)
        except BaseException:
            await self.upstream_factory.rollback(pools, fresh.values())
            raise
        for name in before.keys() - kept.keys():
            await self.upstream_monitor.leave(name)
        gone = self.upstream_factory.detach(pools, kept)
        if settings.notify != self.settings.notify or settings.public_url != self.settings.public_url:
            await self._replace_notifier(notifier)
        self._swap(settings, contracts, fresh, loaded, policies)
        self._record_settings("configuration.changed")
        if self.signing is not None:
            self.signing.follow(log_signer, settings.audit.sign_every, settings.audit.heartbeat)
        for name in fresh:
            self.upstream_monitor.begin(name, fresh[name])
        for name in kept:
            self.upstream_monitor.refresh_now(name)
        self.upstream_factory.drain((link for name, link in before.items() if name not in kept), gone)
        if before.keys() != kept.keys() or fresh:
            self.sessions.forget_watches(kept.keys())
        decided_anew = _digest_of(old_policies) != _digest_of(policies)
        if before.keys() != kept.keys() or fresh or decided_anew:
            for message in [TOOLS_CHANGED, *LISTS_CHANGED] if decided_anew else LISTS_CHANGED:
                self.notifications.publish(message)

    def _swap(
        self,
        settings: Settings,
        contracts: Contracts,
        fresh: dict[str, Link],
        loaded: dict[str, Definitions | str],
        policies: PolicyEngine | None,
    ) -> None:
        """Switches from the old to the new settings in one step, without awaiting."""
        links = {name: fresh.get(name) or self.links[name] for name in settings.upstreams}
        self.settings, self.policies = settings, policies
        self.links.clear()
        self.links.update(links)
        for link in links.values():
            if isinstance(link, HttpLink):
                link.relayed = len(links) == 1
        self.tool_loader.apply_settings(settings, contracts, loaded)
        self.authenticator.apply_settings(settings)
        self.flow = flow_control(settings, self.flow)
        self.ports = self._make_ports()
        if self._gateway is not None:
            self._governed.renew(self.ports, self.passthrough_factory.server_info(), self.authenticator.metadata_url())
            self._gateway.non_tool_handler = self.passthrough_factory.non_tool_handler()
            self._gateway.more = self.passthrough_factory.more()
            self._gateway.other, self._gateway.host_policy = self._api(), self.authenticator.host_policy()
            self._gateway.cors = self.authenticator.cors()
        self.tool_loader.publish()

    def _record_settings(self, event: str) -> None:
        tools = len(self.tool_loader.catalogue.tools)
        self.config_log.record_settings(self.settings, event, tools, _digest_of(self.policies))

    def _make_notifier(self, settings: Settings) -> Notifier:
        try:
            return Notifier(settings.notify, self.store, time.time, lambda one: self.ports.page(f"approvals/{one}"))
        except BadAddress as error:
            raise SettingsError(Fault(str(error), "Correct the address", "notify")) from None

    async def _replace_notifier(self, notifier: Notifier) -> None:
        old, self.notifier = self.notifier, notifier
        notifier.start()
        await old.stop()

    def app(self, other: App) -> McpEndpoint:
        """The ASGI app of the MCP endpoint and `/api`; `other` serves every other path."""
        self._other = other
        self._governed = governed = self.governed()
        self._gateway = McpEndpoint(
            authenticate=self.authenticator.authenticate,
            listing=governed.listing,
            call=governed.call,
            non_tool_handler=self.passthrough_factory.non_tool_handler(),
            sessions=self.sessions,
            other=self._api(),
            host_policy=self.authenticator.host_policy(),
            cors=self.authenticator.cors(),
            more=self.passthrough_factory.more(),
            stopped=self._why_stopped,
        )
        return self._gateway

    async def _why_stopped(self, caller: Any) -> str | None:
        """Why a caller's requests beside tool calls are stopped; a stop of one of several upstreams is not among it."""
        alone = next(iter(self.links)) if len(self.links) == 1 else ""
        try:
            stop = (await self.stop_switches.current()).stop_for_messages(caller, alone)
        except StoreError:
            return "The stop switches cannot be read, so nothing is passed on. Try again later."
        return None if stop is None else stop.said()

    def governed(self) -> ToolService:
        """The service that runs tool calls through the pipeline."""
        return ToolService(
            self.ports,
            self.links,
            RequestStateCodec(self.keyring.key("sealing"), time.time, self._mark),
            server_info=self.passthrough_factory.server_info(),
            metadata_url=self.authenticator.metadata_url(),
            add_duration=self.tally.add_duration,
            connect_question=ConnectQuestion(self._is_connected),
            on_step_up=self._note_step_up,
        )

    def _api(self) -> App:
        """`/api`, built for its first request, and the other paths."""
        authenticator, ports = self.authenticator, self.ports
        policy, url = authenticator.host_policy(), self.settings.public_url

        def build() -> App:
            from assent.gateway.api.app import ApiApp

            return ApiApp(ports, authenticator.authenticate, policy, url, self._other, self.state)

        return LazyApp("/api", build, self._other)

    def _policy_faults(self) -> list[Fault]:
        """Why policies do not fit the tools as they are now."""
        troubles = self.tool_loader.troubles
        return policy_faults(self.policies, self.catalogue(), self.settings.upstreams, complete=not troubles)

    def _log_policy_faults(self) -> None:
        """Logs each policy that does not fit the tools that an upstream lists now, once."""
        faults = {str(fault) for fault in self._policy_faults()}
        for fault in sorted(faults - self._told_faults):
            logger.error("a policy does not fit, so tools that it applies to are denied: %s", fault)
        self._told_faults = faults

    def _publish_tools_changed(self) -> None:
        if self.policies is not None:
            self._log_policy_faults()
        if self.loaded.is_set():
            self.notifications.publish(TOOLS_CHANGED)

    def _publish(self, message: dict[str, Any]) -> None:
        if not self.passthrough_factory.relays():  # a relayed notification reaches the client on the upstream's stream
            self.notifications.publish(message)

    def _make_ports(self) -> Ports:
        settings = self.settings
        return make_ports(
            self.store,
            partial(attrgetter("catalogue"), self.tool_loader),
            work=self.work,
            derive_key=self.keyring.derive,
            keyed_hash=self.keyring.keyed_hash,
            stops=self.stop_switches.current,
            page=lambda path: f"{settings.public_url.rstrip('/')}/console/{path}",
            leads_to=self._real_paths_of,
            seen=self.tally.count_call,
            evidence=self.evidence,
            flow=self.flow,
            waiting=lambda approval: self.notifier.offer(approval),
            connect=self._connection_needed if any(one.auth for one in settings.upstreams.values()) else None,
            **port_settings(settings, self.policies),
        )

    async def _connection_needed(self, call: Call, scope: str | None = None) -> ConnectionNeeded | None:
        """What the caller's person must connect first; None if the call can be sent."""
        name, link = call.tool.upstream, self.links.get(call.tool.upstream)
        if link is None or isinstance(link, OpenApiLink):
            return None
        missing = scope if scope is not None else await link.missing_connection(call.principal)
        if missing is None:
            return None
        if self.settings.upstreams[name].identity == "shared":
            more = "".join(f" --scope {shlex.quote(word)}" for word in missing.split())
            return ConnectionNeeded(name, f"an operator runs `assent login {name}{more}`", missing)
        query = urlencode({"upstream": name, **({"scope": missing} if missing else {})})
        return ConnectionNeeded(name, f"{self.settings.public_url.rstrip('/')}/console/connections?{query}", missing)

    async def _note_step_up(self, caller: Principal, refusal: Refusal) -> None:
        """Have the embedded authorization server ask the caller's person for the sign-in that a call needs."""
        if self.authenticator.embedded is None or not caller.bearer:
            return
        from assent.gateway.auth.embedded.pending_step_up import note_step_up

        with suppress(StoreError):  # The caller is refused in any case.
            await note_step_up(self.store, caller, refusal, time.time())

    async def _is_connected(self, upstream: str, principal: Principal, scope: str) -> bool:
        """Whether a caller's person has connected an upstream by now, with these scopes."""
        link = self.links.get(upstream)
        if link is None or isinstance(link, OpenApiLink) or await link.missing_connection(principal) is not None:
            return False
        kept = await self.vault.get(upstream, owner_of(principal))
        return not scope or (kept is not None and {*scope.split()} <= {*str(kept.fields.get("scope") or "").split()})

    async def _real_paths_of(self, call: Call) -> list[tuple[str, str]]:
        """The real paths of a call's arguments, for a server that a command starts on this machine."""
        upstream = self.settings.upstreams.get(call.tool.upstream)
        if upstream is None or upstream.command is None:
            return []
        try:
            async with asyncio.timeout(PATH_TIMEOUT):
                return await asyncio.to_thread(real_paths, call.stated, Path(upstream.cwd or "."))
        except TimeoutError:
            return [("paths", "not looked up: the disk did not answer in time")]

    def is_loaded(self) -> bool:
        return self.loaded.is_set()

    async def is_ready(self) -> bool:
        """Whether the catalogue is loaded and the store can be read and written."""
        return self.loaded.is_set() and await self.probe.is_writable()

    def public_url(self) -> str:
        return self.settings.public_url

    def host_policy(self) -> HostOriginPolicy:
        return self.authenticator.host_policy()

    def count_failed_sign_in(self, code: str, scope: Scope) -> None:
        """Count a person who could not sign in to the console, for the log."""
        self.authenticator.failed_auth.count_failure(code, scope)

    def client_metadata(self) -> dict[str, Any]:
        """Assent's own client metadata document, for authorization servers of upstreams that read it by its URL."""
        public = self.public_url().rstrip("/")
        return {"client_id": f"{public}/.well-known/oauth-client", **client_metadata(f"{public}{CALLBACK_PATH}")}

    def resource_metadata(self) -> dict[str, Any] | None:
        """OAuth protected resource metadata (RFC 9728)."""
        return self.authenticator.metadata()

    def _public_tools(self) -> list[Tool]:
        return [tool for tool in self.tool_loader.catalogue.tools.values() if is_public(tool)]

    def _public_scopes(self) -> list[str]:
        """The scopes of the tools that every caller may see."""
        return sorted({scope for tool in self._public_tools() for scope in tool.contract.permissions})

    async def metrics(self, headers: Headers, scope: Scope) -> bytes | None:
        """The metrics page, for an operator or a caller on this machine; None for every other caller."""
        if not await self.authenticator.is_operator(headers, scope):
            return None
        troubles = self.tool_loader.troubles
        upstreams = {name: (name not in troubles, self.upstream_factory.failures(name)) for name in self.links}
        loop = type(asyncio.get_running_loop()).__module__.partition(".")[0]
        return render(self.tally, GatewayStatus(len(self._public_tools()), len(self.sessions), upstreams, loop))

    def troubles(self) -> dict[str, str]:
        """The current problem of each upstream that has one."""
        return dict(self.tool_loader.troubles)


async def open_gateway(settings: Settings, mark: str = "") -> GatewayApp:
    """Opens the store and the local OpenAPI documents; nothing listens yet."""
    gateway_app = GatewayApp(settings, await open_store(settings.store), mark)
    try:
        for link in gateway_app.links.values():
            if isinstance(link, OpenApiLink) and link.is_local:
                await link.load()
    except BaseException:
        await gateway_app.stop()
        raise
    return gateway_app


def _digest_of(policies: PolicyEngine | None) -> str:
    return "" if policies is None else policies.digest


def _provider_of(settings: Settings) -> str:
    """The issuer of the callers' tokens, if there is one."""
    return settings.auth.jwt.issuer if settings.auth.jwt is not None else ""


def _identity_of(caller: Principal) -> tuple[object, ...]:
    return caller.identity
