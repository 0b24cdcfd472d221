"""The gateway application: starts, serves the current generation, switches to a new one, and stops."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

from assent.audit.signing_schedule import SigningPlan
from assent.config.model import Settings
from assent.config.rules import policy_faults
from assent.core.principal import Principal
from assent.errors import Fault, SettingsError, StoreError
from assent.features import load_feature
from assent.gateway.build import build, first
from assent.gateway.catalogue_refresh import CatalogueLoader, CatalogueLog, Serving, differs, warn_of_missing_pins
from assent.gateway.first_sight import note_seen
from assent.gateway.generation import Generation, assemble
from assent.gateway.monitor import UpstreamMonitor
from assent.gateway.operator_access import GatewayState
from assent.gateway.runtime import Surroundings, open_runtime, same_ports
from assent.gateway.served_tools import Contracts, ServedTools
from assent.gateway.sessions.notifications import LISTS_CHANGED, TOOLS_CHANGED
from assent.gateway.start_gate import StartGate
from assent.gateway.tool_names import ToolNamesKeeper
from assent.ports import Ports, Store
from assent.stores.open import open_store
from assent.web.asgi import App, Headers, LazyApp, Receive, Scope, Send

logger = logging.getLogger(__name__)

DRAIN = 10.0


class GatewayApp:
    """One running gateway. `current` is the configuration that it serves; it changes by one assignment."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        adapt: Callable[[Ports], Ports] = same_ports,
        surroundings: Surroundings | None = None,
    ) -> None:
        """`adapt` changes the ports for the door in front of this gateway."""
        self._surroundings = around = surroundings or Surroundings()
        self.upstream_monitor = UpstreamMonitor(
            self.reload,
            lambda name: name in self.tools.troubles,
            lambda message, name: self.runtime.notifications.publish(message, name),
        )
        self.runtime = open_runtime(
            settings,
            store,
            self.upstream_monitor.subscriptions,
            adapt,
            around,
            public_scopes=lambda: self.current.public_scopes(),
            signing_plan=self._signing_plan,
            reauthenticate=self._reauthenticate,
            other=self._other,
        )
        self.store, self.keyring, self.auth = store, self.runtime.keyring, self.runtime.auth
        self.work, self.probe, self.signing = self.runtime.work, self.runtime.probe, self.runtime.signing
        self.config_log = self.runtime.config_log
        self.current: Generation = first(self.runtime, settings, self.auth, self._page_of_approval, around.flow)
        self.tools = CatalogueLoader(
            Serving(
                lambda: self.current.served,
                lambda: self.current.links,
                self._serve,
                self.config_log.record_tools,
                partial(note_seen, store),
            )
        )
        self.tools.troubles = dict.fromkeys(settings.upstreams, "it has not answered yet")
        self._catalogue_log = CatalogueLog()
        self.tool_names = ToolNamesKeeper(store, lambda: self.settings)
        self.gate = StartGate()
        self.refused_settings = ""
        """Why the newest configuration files are not used; empty while they are."""
        self.state = GatewayState(self)
        self._pages: App = _nothing
        self._api: App | None = None

    # What others read of the running gateway

    @property
    def settings(self) -> Settings:
        return self.current.settings

    @property
    def ports(self) -> Ports:
        return self.current.ports

    def is_loaded(self) -> bool:
        return self.gate.is_open

    async def is_ready(self) -> bool:
        """Whether the catalogue is loaded and the store can be read and written."""
        return self.gate.is_open and await self.probe.is_writable()

    def count_failed_sign_in(self, code: str, scope: Scope) -> None:
        """Count a person who could not sign in to the console, for the log."""
        self.auth.failed_auth.count_failure(code, scope)

    # Requests

    def app(self, other: App) -> App:
        """The ASGI app of the MCP endpoint, `/api` and `/hooks`; `other` serves every other path."""
        self._pages = other
        hooks = LazyApp("/hooks", lambda: load_feature("hooks_over_http").HooksApp(self), other)
        self._api = LazyApp("/api", lambda: load_feature("api").ApiApp(self.state, other), hooks)
        return self

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Coroutine[Any, Any, None]:
        if self.gate.is_open or scope.get("path", "").rstrip("/") != self.current.endpoint.path:
            return self.current.endpoint(scope, receive, send)
        return self._serve_when_admitted(scope, receive, send)

    async def _serve_when_admitted(self, scope: Scope, receive: Receive, send: Send) -> None:
        if await self.gate.admits(self._reauthenticate, scope, send):
            await self.current.endpoint(scope, receive, send)

    async def _other(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self._api or self._pages)(scope, receive, send)

    async def _reauthenticate(self, headers: Headers, scope: Scope) -> Principal:
        return await self.current.rulebook.authenticator.authenticate_at_mcp(headers, scope)

    # Start and stop

    async def start(self) -> None:
        """Loads the tools of every upstream. An upstream that does not answer is retried and delays no other.

        Raises SettingsError if `without_contract: error` is set and a tool has no contract; call `stop` then.
        """
        self.keyring.make_all()
        lock = self.settings.lock_file
        if "pins" in self.settings.model_fields_set and lock is not None and not lock.exists():
            warn_of_missing_pins(self.current.served)
        await asyncio.gather(*map(self.reload, self.current.links))
        self.current.served.check_contracts()
        if faults := self._policy_faults(self.current):
            raise SettingsError(faults)
        self._catalogue_log.unchecked_contracts(self.current.served, self.current.catalogue)
        self._record_settings("configuration.started")
        self.gate.open()
        self._keep_tool_names()
        if self.current.rulebook.notifier is not None:
            self.current.rulebook.notifier.start()
        if self.signing is not None:
            self.signing.start()
        for name, link in self.current.links.items():
            self.upstream_monitor.begin(name, link)

    async def stop(self, within: float = DRAIN) -> int:
        """Waits for running effects, up to a limit, and returns how many were left in doubt."""
        await self.close_streams()
        if self.current.rulebook.notifier is not None:
            await self.current.rulebook.notifier.stop()
        await self.tool_names.stop()
        await self.upstream_monitor.end()
        left = await self.work.drain(within)
        await self.runtime.upstream_factory.close_all(self.current.links.values())
        with suppress(StoreError):
            self.auth.failed_auth.write()
        if self.runtime.evidence is not None:
            await self.runtime.evidence.close()
        if self.signing is not None:
            await self.signing.stop()
        if self._surroundings.store is None:
            await self.store.close()
        return left

    async def close_streams(self) -> None:
        """Ends the long-lived streams; calls continue."""
        self.gate.give_up()
        self.runtime.notifications.end()
        await self.runtime.upstream_factory.close_streams()

    # Changes

    async def reload(self, name: str, announced: bool = False) -> float:
        """Loads the tools of one upstream now; returns the CPU time that took.

        A change that the upstream `announced` is announced to clients even if their list stays the same.
        """
        before = self.current.catalogue
        busy = await self.tools.refresh(name)
        if announced and not differs(before, self.current.catalogue):
            self.runtime.notifications.publish(TOOLS_CHANGED)
        return busy

    async def use(self, settings: Settings, contracts: Contracts | None = None) -> None:
        """Serves new settings from now on. If they are not valid, raises with every fault and changes nothing.

        `contracts` are the contracts of these settings if they are already loaded. Removed upstreams finish their
        running calls.
        """
        old = self.current
        built = await build(self.runtime, settings, old, self.tools.definitions, self._page_of_approval, contracts)
        gone = {name: link for name, link in old.links.items() if built.generation.links.get(name) is not link}
        pools = self.runtime.upstream_factory.detach(gone.values())
        for name in gone:
            await self.upstream_monitor.leave(name)
        self._switch(built.generation)
        self.tools.keep_only(settings.upstreams)
        self.tools.definitions.update(built.definitions)
        for name in built.fresh:
            self.tools.set_trouble(name, built.troubles.get(name, ""))
            self.upstream_monitor.begin(name, built.fresh[name])
        self.tools.note_listed(old.served, built.generation.served)
        self._record_settings("configuration.changed")
        for name in settings.upstreams.keys() - built.fresh.keys():
            self.upstream_monitor.refresh_now(name)
        self.runtime.upstream_factory.drain(gone.values(), pools)
        await self._replace_notifier(old, built.generation)
        if gone or built.fresh:
            self.runtime.sessions.forget_watches(settings.upstreams.keys() - built.fresh.keys())
        decided_anew = _digest_of(old.rulebook.policies) != _digest_of(built.generation.rulebook.policies)
        if gone or built.fresh or decided_anew:
            for message in [TOOLS_CHANGED, *LISTS_CHANGED] if decided_anew else LISTS_CHANGED:
                self.runtime.notifications.publish(message)

    def _serve(self, served: ServedTools) -> None:
        """Serves what upstreams list now, under the same configuration."""
        self._switch(assemble(self.runtime, self.current.rulebook, served, served.catalogue()))

    def _switch(self, generation: Generation) -> None:
        """Serves another generation. Requests that have begun keep theirs."""
        before, served = self.current, generation.served
        self.current = generation
        for name, (_, _, compiled) in served.compiled.items():
            generation.links[name].note_tools(compiled.tools)
        self._catalogue_log.write(before.catalogue, generation.catalogue, served, served.excluded(generation.links))
        self.runtime.hidden_text.note_tools({name: one.hidden for name, (_, _, one) in served.compiled.items()})
        if differs(before.catalogue, generation.catalogue):
            if generation.rulebook.policies is not None:
                self._catalogue_log.policy_faults(self._policy_faults(generation))
            if self.gate.is_open:
                self._keep_tool_names()
                self.runtime.notifications.publish(TOOLS_CHANGED)

    def _keep_tool_names(self) -> None:
        catalogue = self.current.catalogue
        self.tool_names.keep({*catalogue.tools, *catalogue.withheld})

    async def _replace_notifier(self, old: Generation, new: Generation) -> None:
        if new.rulebook.notifier is old.rulebook.notifier:
            return
        if new.rulebook.notifier is not None:
            new.rulebook.notifier.start()
        if old.rulebook.notifier is not None:
            await old.rulebook.notifier.stop()

    def _record_settings(self, event: str) -> None:
        generation = self.current
        tools, policies = len(generation.catalogue.tools), _digest_of(generation.rulebook.policies)
        self.config_log.record_settings(generation.settings, event, tools, policies)

    def _policy_faults(self, generation: Generation) -> list[Fault]:
        """Why policies do not fit the tools as they are now."""
        book, complete = generation.rulebook, not self.tools.troubles
        return policy_faults(book.policies, generation.catalogue, book.settings.upstreams, complete=complete)

    def _page_of_approval(self, approval: str) -> str | None:
        return self.ports.page(f"approvals/{approval}")

    def _signing_plan(self) -> SigningPlan:
        plan = self.current.rulebook.signing
        assert plan is not None
        return plan


async def open_gateway(
    settings: Settings, adapt: Callable[[Ports], Ports] = same_ports, surroundings: Surroundings | None = None
) -> GatewayApp:
    """Opens the store and the local OpenAPI documents; nothing listens yet."""
    shared = surroundings.store if surroundings is not None else None
    gateway_app = GatewayApp(settings, shared or await open_store(settings.store), adapt, surroundings)
    try:
        for link in gateway_app.current.links.values():
            if link.is_local_document:
                await link.load()
    except BaseException:
        await gateway_app.stop()
        raise
    return gateway_app


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:
    """Serves no page: the gateway of a door without HTTP."""


def _digest_of(policies: Any) -> str:
    return "" if policies is None else policies.digest
