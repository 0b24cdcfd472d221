"""The gateway application: builds its parts, applies configuration changes and shuts down."""

from __future__ import annotations

import asyncio
import secrets as random
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from assent.config.anchors import log_signer_of, periodic_signer_of
from assent.config.keyring import Keyring
from assent.config.model import Settings
from assent.core.call import Call
from assent.core.catalogue import Catalogue, is_public
from assent.core.outcome import Outcome
from assent.core.principal import Principal
from assent.core.tool import Tool
from assent.errors import Fault, SettingsError, StoreError
from assent.gateway.api import ApiApp
from assent.gateway.audit_evidence import LogEvidence
from assent.gateway.auth.authenticator import Authenticator
from assent.gateway.auth.host_origin import HostOriginPolicy
from assent.gateway.catalogue import Contracts, Definitions, ToolCatalogueLoader, contracts_of, tools_of
from assent.gateway.config_audit import ConfigAuditLog
from assent.gateway.endpoint import McpEndpoint
from assent.gateway.metrics import CallCounters, GatewayStatus, render
from assent.gateway.monitor import UpstreamMonitor
from assent.gateway.notify import Notifier
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
from assent.pipeline.stop_switches import StopSwitches
from assent.ports import Ports, Store
from assent.stores.ids import new_id
from assent.stores.open import open_store
from assent.stores.probe import StoreProbe
from assent.upstreams.http.address import BadAddress
from assent.upstreams.http.link import HttpLink
from assent.upstreams.openapi.link import OpenApiLink
from assent.upstreams.stdio.link import StdioLink
from assent.web.asgi import App, Headers, Scope

DRAIN = 10.0
PATH_TIMEOUT = 5.0


class GatewayApp:
    """One running gateway: its upstreams, catalogue, sessions and endpoints."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings, self.store = settings, store
        self.keyring = Keyring(Path(settings.secrets.directory))
        self.links: dict[str, Link] = {}
        self.config_log = ConfigAuditLog(store.note, time.time, self.keyring.keyed_hash)
        self.tool_loader = ToolCatalogueLoader(
            settings, self.links, self._publish_tools_changed, self.config_log.record_tools
        )
        self.upstream_factory = UpstreamFactory()
        alone = len(settings.upstreams) == 1
        for name, upstream in settings.upstreams.items():
            self.links[name] = self.upstream_factory.link(name, upstream, relayed=alone)
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
        self.ports = self._make_ports()
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
        )
        self.state = GatewayState(
            lambda: self.settings,
            self.tool_loader,
            self.upstream_factory,
            self.tally,
            self.stop_switches,
            RecentCalls(store),
            self.authenticator.keys,
        )
        self._gateway: McpEndpoint | None = None

    def catalogue(self) -> Catalogue:
        return self.tool_loader.catalogue

    async def start(self) -> None:
        """Loads the tools of every upstream. An upstream that does not answer is retried and delays no other.

        Raises SettingsError if `without_contract: error` is set and a tool has no contract; call `stop` then.
        """
        await asyncio.gather(*(self.tool_loader.refresh(name) for name in self.links))
        self.tool_loader.check_contracts()
        self.tool_loader.log_unchecked_contracts()
        self.config_log.record_settings(self.settings, "configuration.started", len(self.tool_loader.catalogue.tools))
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
        log_signer, notifier = log_signer_of(settings, self.store), self._make_notifier(settings)
        kept = {name: one for name, one in settings.upstreams.items() if self.settings.upstreams.get(name) == one}
        before, pools = dict(self.links), list(self.upstream_factory.pools)
        fresh: dict[str, Link] = {}
        try:
            for name, one in settings.upstreams.items():
                if name not in kept:
                    fresh[name] = self.upstream_factory.link(name, one, relayed=len(settings.upstreams) == 1)
            loaded = dict(zip(fresh, await asyncio.gather(*map(tools_of, fresh.values())), strict=True))
            self.tool_loader.check(settings, contracts, fresh, loaded)
        except BaseException:
            await self.upstream_factory.rollback(pools, fresh.values())
            raise
        for name in before.keys() - kept.keys():
            await self.upstream_monitor.leave(name)
        gone = self.upstream_factory.detach(pools, kept)
        if settings.notify != self.settings.notify or settings.public_url != self.settings.public_url:
            await self._replace_notifier(notifier)
        self._swap(settings, contracts, fresh, loaded)
        self.config_log.record_settings(settings, "configuration.changed", len(self.tool_loader.catalogue.tools))
        if self.signing is not None:
            self.signing.follow(log_signer, settings.audit.sign_every, settings.audit.heartbeat)
        for name in fresh:
            self.upstream_monitor.begin(name, fresh[name])
        for name in kept:
            self.upstream_monitor.refresh_now(name)
        self.upstream_factory.drain((link for name, link in before.items() if name not in kept), gone)
        if before.keys() != kept.keys() or fresh:
            self.sessions.forget_watches(kept.keys())
            for message in LISTS_CHANGED:
                self.notifications.publish(message)

    def _swap(
        self,
        settings: Settings,
        contracts: Contracts,
        fresh: dict[str, Link],
        loaded: dict[str, Definitions | str],
    ) -> None:
        """Switches from the old to the new settings in one step, without awaiting."""
        links = {name: fresh.get(name) or self.links[name] for name in settings.upstreams}
        self.settings = settings
        self.links.clear()
        self.links.update(links)
        for link in links.values():
            if isinstance(link, HttpLink):
                link.relayed = len(links) == 1
        self.tool_loader.apply_settings(settings, contracts, loaded)
        self.authenticator.apply_settings(settings)
        self.ports = self._make_ports()
        if self._gateway is not None:
            self._governed.renew(self.ports, self.passthrough_factory.server_info(), self.authenticator.metadata_url())
            self._gateway.non_tool_handler, self._gateway.more = (
                self.passthrough_factory.non_tool_handler(),
                self.passthrough_factory.more(),
            )
            self._gateway.other, self._gateway.host_policy = self._api(), self.authenticator.host_policy()
            self._gateway.cors = self.authenticator.cors()
        self.tool_loader.publish()

    def _make_notifier(self, settings: Settings) -> Notifier:
        try:
            return Notifier(settings.notify, self.store, time.time, lambda one: self.ports.approval_url(one))
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
            RequestStateCodec(self.keyring.key("sealing"), time.time),
            server_info=self.passthrough_factory.server_info(),
            metadata_url=self.authenticator.metadata_url(),
            add_duration=self.tally.add_duration,
        )

    def _api(self) -> ApiApp:
        authenticator = self.authenticator
        policy, url = authenticator.host_policy(), self.settings.public_url
        return ApiApp(self.ports, authenticator.authenticate, policy, url, self._other, self.state)

    def _publish_tools_changed(self) -> None:
        if self.loaded.is_set():
            self.notifications.publish(TOOLS_CHANGED)

    def _publish(self, message: dict[str, Any]) -> None:
        if not self.passthrough_factory.relays():  # a relayed notification reaches the client on the upstream's stream
            self.notifications.publish(message)

    def _make_ports(self) -> Ports:
        settings = self.settings
        return Ports(
            catalogue=self.catalogue,
            store=self.store,
            upstream=_PER_CALL,
            authenticate=_return_principal,
            now=time.time,
            new_id=new_id,
            work=self.work,
            derive_key=self.keyring.derive,
            keyed_hash=self.keyring.keyed_hash,
            guards=settings.rules(),
            mode=settings.mode,
            policy_digest=settings.policy_digest(),
            limits=settings.limits,
            budgets=settings.budgets,
            most_pending=settings.approvals.most_pending,
            cooldown=settings.approvals.cooldown,
            approval_url=lambda approval: f"{settings.public_url.rstrip('/')}/console/approvals/{approval}",
            leads_to=self._real_paths_of,
            retention=settings.defaults.idempotency.retention,
            approver_step_up=settings.approver_step_up(),
            seen=self._count,
            evidence=self.evidence,
            waiting=lambda approval: self.notifier.offer(approval),
            stops=self.stop_switches.current,
        )

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

    def _count(self, tool: str | None, outcome: Outcome | None, would: Sequence[str]) -> None:
        """Counts a call; a tool that is hidden from some callers is counted without its name."""
        found = self.tool_loader.catalogue.find(tool) if tool is not None else None
        self.tally.count_call(tool if found is None or is_public(found) else None, outcome, would)

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
        return render(self.tally, GatewayStatus(len(self._public_tools()), len(self.sessions), upstreams))

    def troubles(self) -> dict[str, str]:
        """The current problem of each upstream that has one."""
        return dict(self.tool_loader.troubles)


_PER_CALL: Any = None


async def open_gateway(settings: Settings) -> GatewayApp:
    """Opens the store and the local OpenAPI documents; nothing listens yet."""
    gateway_app = GatewayApp(settings, await open_store(settings.store))
    try:
        for link in gateway_app.links.values():
            if isinstance(link, OpenApiLink) and link.is_local:
                await link.load()
    except BaseException:
        await gateway_app.stop()
        raise
    return gateway_app


def _identity_of(caller: Principal) -> tuple[object, ...]:
    return caller.identity


async def _return_principal(principal: Principal) -> Principal:
    return principal
