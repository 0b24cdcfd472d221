"""The gateway: its parts put together, kept up to date, and taken down."""

from __future__ import annotations

import asyncio
import secrets as random
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from assent.anchoring import ledger_of, signing_of
from assent.attention import Attention
from assent.chronicle import Chronicle
from assent.core.call import Call
from assent.core.catalogue import Catalogue, is_public
from assent.core.ids import new_id
from assent.core.outcome import Outcome
from assent.core.principal import Principal
from assent.core.tool import Tool
from assent.edges.api import Api
from assent.edges.api_links import OpenApiLink
from assent.edges.doors import Doors
from assent.edges.gateway import Gateway
from assent.edges.governed import Governed
from assent.edges.http import App, Headers, Scope
from assent.edges.http_links import HttpLink
from assent.edges.notices import LISTS_CHANGED, TOOLS_CHANGED, Notices
from assent.edges.real_paths import real_paths
from assent.edges.sealing import Seal
from assent.edges.sessions import SessionTable
from assent.edges.stdio_links import StdioLink
from assent.errors import StoreError
from assent.facade import Facade
from assent.keyring import Keyring
from assent.pipeline.work import Work
from assent.ports import Ports, Store
from assent.reception import Reception
from assent.settings import Settings
from assent.stock import Contracts, Definitions, Stock, contracts_of, tools_of
from assent.stores.address import open_store
from assent.stores.probe import StoreProbe
from assent.telemetry import Standing, Tally, render
from assent.wiring import Link, Wiring

DRAIN = 10.0
LOOK_WITHIN = 5.0


class House:
    """One running gateway: its upstreams, its catalogue, its doors."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings, self.store = settings, store
        self.keyring = Keyring(Path(settings.secrets.directory))
        self.links: dict[str, Link] = {}
        self.chronicle = Chronicle(store.note, time.time, self.keyring.blind)
        self.stock = Stock(settings, self.links, self._tell_tools_changed, self.chronicle.said)
        self.wiring = Wiring()
        alone = len(settings.upstreams) == 1
        for name, upstream in settings.upstreams.items():
            self.links[name] = self.wiring.link(name, upstream, relayed=alone)
        self.loaded = asyncio.Event()
        retention = settings.defaults.idempotency.retention
        self.work = Work(store, time.time, retention=retention, blind=self.keyring.blind)
        self.probe = StoreProbe(store, time.time)
        self.tally = Tally()
        self.reception = Reception(settings, store, self._public_scopes)
        self.ports = self._make_ports()
        self.sessions = SessionTable(time.monotonic, lambda: random.token_urlsafe(24), who=_identity_of)
        self.notices = Notices(self.sessions)
        self.attention = Attention(self.stock.refresh, lambda name: name in self.stock.troubles, self._pass_on)
        self.facade = Facade(self.links, self.stock, self.wiring, self.attention, self.sessions, self.notices)
        self._gateway: Gateway | None = None
        self.signing = signing_of(settings, store)

    def catalogue(self) -> Catalogue:
        return self.stock.catalogue

    async def start(self) -> None:
        """Ask every upstream for its tools. One that does not answer is tried again; the others do not wait for it.

        Raises SettingsError where `without_contract: error` finds a tool without one; stop it then.
        """
        await asyncio.gather(*(self.stock.refresh(name) for name in self.links))
        self.stock.check_contracts()
        self.stock.tell_unchecked()
        self.chronicle.configured(self.settings, "configuration.started", len(self.stock.catalogue.tools))
        self.loaded.set()
        if self.signing is not None:
            self.signing.start()
        for name in self.links:
            self.attention.begin(name, self.links[name])

    async def stop(self, within: float = DRAIN) -> int:
        """Finish what is under way within a bound; how many effects were left in doubt."""
        await self.hush()
        await self.attention.end()
        left = await self.work.drain(within)
        await asyncio.gather(*(link.close() for link in self.links.values() if isinstance(link, HttpLink)))
        await self.wiring.close()
        with suppress(StoreError):
            self.reception.strangers.write()
        await asyncio.gather(*(link.close() for link in self.links.values() if isinstance(link, StdioLink)))
        if self.signing is not None:
            await self.signing.stop()
        await self.store.close()
        return left

    async def hush(self) -> None:
        """End the streams that have no end of their own; calls go on."""
        self.notices.end()
        await self.wiring.hush()

    async def reload(self, name: str) -> None:
        """Ask one upstream for its tools now."""
        await self.stock.refresh(name)

    async def adopt(self, settings: Settings, contracts: Contracts | None = None) -> None:
        """Live by other settings from now on, or raise with every fault and change nothing.

        `contracts` are those of the settings, where they have been read already. New upstreams are asked for their
        tools before anything is swapped, removed ones finish what is under way.
        """
        contracts = contracts_of(settings) if contracts is None else contracts
        ledger = ledger_of(settings, self.store)
        kept = {name: one for name, one in settings.upstreams.items() if self.settings.upstreams.get(name) == one}
        before, pools = dict(self.links), list(self.wiring.pools)
        fresh: dict[str, Link] = {}
        try:
            for name, one in settings.upstreams.items():
                if name not in kept:
                    fresh[name] = self.wiring.link(name, one, relayed=len(settings.upstreams) == 1)
            loaded = dict(zip(fresh, await asyncio.gather(*map(tools_of, fresh.values())), strict=True))
            self.stock.check(settings, contracts, fresh, loaded)
        except BaseException:
            await self.wiring.forget(pools, fresh.values())
            raise
        for name in before.keys() - kept.keys():
            await self.attention.leave(name)
        gone = self.wiring.take_out(pools, kept)
        self._swap(settings, contracts, fresh, loaded)
        self.chronicle.configured(settings, "configuration.changed", len(self.stock.catalogue.tools))
        if self.signing is not None:
            self.signing.follow(ledger, settings.audit.sign_every, settings.audit.heartbeat)
        for name in fresh:
            self.attention.begin(name, fresh[name])
        for name in kept:
            self.attention.look_at(name)
        self.wiring.retire((link for name, link in before.items() if name not in kept), gone)
        if before.keys() != kept.keys() or fresh:
            self.sessions.forget_watches(kept.keys())
            for message in LISTS_CHANGED:
                self.notices.publish(message)

    def _swap(
        self,
        settings: Settings,
        contracts: Contracts,
        fresh: dict[str, Link],
        loaded: dict[str, Definitions | str],
    ) -> None:
        """From the old to the new without a pause in between."""
        links = {name: fresh.get(name) or self.links[name] for name in settings.upstreams}
        self.settings = settings
        self.links.clear()
        self.links.update(links)
        for link in links.values():
            if isinstance(link, HttpLink):
                link.relayed = len(links) == 1
        self.stock.adopt(settings, contracts, loaded)
        self.reception.adopt(settings)
        self.ports = self._make_ports()
        if self._gateway is not None:
            self._governed.renew(self.ports, self.facade.server_info(), self.reception.metadata_url())
            self._gateway.passage, self._gateway.more = self.facade.passage(), self.facade.more()
            self._gateway.other, self._gateway.doors = self._api(), self.reception.doors()
            self._gateway.cors = self.reception.cors()
        self.stock.publish()

    def app(self, other: App) -> Gateway:
        """The MCP endpoint and `/api`; `other` answers for every other path."""
        self._other = other
        self._governed = governed = self.governed()
        self._gateway = Gateway(
            authenticate=self.reception.authenticate,
            listing=governed.listing,
            call=governed.call,
            passage=self.facade.passage(),
            sessions=self.sessions,
            other=self._api(),
            doors=self.reception.doors(),
            cors=self.reception.cors(),
            more=self.facade.more(),
        )
        return self._gateway

    def governed(self) -> Governed:
        """The sentence, for any edge."""
        return Governed(
            self.ports,
            self.links,
            Seal(self.keyring.key("sealing"), time.time),
            server_info=self.facade.server_info(),
            metadata_url=self.reception.metadata_url(),
            took=self.tally.took,
        )

    def _api(self) -> Api:
        reception = self.reception
        return Api(self.ports, reception.authenticate, reception.doors(), self.settings.public_url, self._other)

    def _tell_tools_changed(self) -> None:
        if self.loaded.is_set():
            self.notices.publish(TOOLS_CHANGED)

    def _pass_on(self, message: dict[str, Any]) -> None:
        if not self.facade.relays():  # otherwise it reaches the client on the upstream's own stream
            self.notices.publish(message)

    def _make_ports(self) -> Ports:
        settings = self.settings
        return Ports(
            catalogue=self.catalogue,
            store=self.store,
            upstream=_PER_CALL,
            authenticate=_known,
            now=time.time,
            new_id=new_id,
            work=self.work,
            derive_key=self.keyring.derive,
            blind=self.keyring.blind,
            guards=settings.rules(),
            mode=settings.mode,
            policy_digest=settings.policy_digest(),
            limits=settings.limits,
            budgets=settings.budgets,
            most_pending=settings.approvals.most_pending,
            cooldown=settings.approvals.cooldown,
            approval_url=lambda approval: f"{settings.public_url.rstrip('/')}/console/approvals/{approval}",
            leads_to=self._leads_to,
            retention=settings.defaults.idempotency.retention,
            seen=self._count,
        )

    async def _leads_to(self, call: Call) -> list[tuple[str, str]]:
        """Real paths are those of a server that a command starts on this machine; others have disks of their own."""
        upstream = self.settings.upstreams.get(call.tool.upstream)
        if upstream is None or upstream.command is None:
            return []
        try:
            async with asyncio.timeout(LOOK_WITHIN):
                return await asyncio.to_thread(real_paths, call.stated, Path(upstream.cwd or "."))
        except TimeoutError:
            return [("paths", "not looked up: the disk did not answer in time")]

    def _count(self, tool: str | None, outcome: Outcome | None, would: Sequence[str]) -> None:
        """Count a call; one of a tool that does not exist for everybody under no name."""
        found = self.stock.catalogue.find(tool) if tool is not None else None
        self.tally.see(tool if found is None or is_public(found) else None, outcome, would)

    def is_loaded(self) -> bool:
        return self.loaded.is_set()

    async def is_ready(self) -> bool:
        """Whether calls can be taken: the catalogue is loaded, and the store can be read and written."""
        return self.loaded.is_set() and await self.probe.is_writable()

    def public_url(self) -> str:
        return self.settings.public_url

    def doors(self) -> Doors:
        return self.reception.doors()

    def resource_metadata(self) -> dict[str, Any] | None:
        """RFC 9728: where tokens for this resource come from."""
        return self.reception.metadata()

    def _public_tools(self) -> list[Tool]:
        return [tool for tool in self.stock.catalogue.tools.values() if is_public(tool)]

    def _public_scopes(self) -> list[str]:
        """The scopes that anybody may know of: those of the tools that exist for everybody."""
        return sorted({scope for tool in self._public_tools() for scope in tool.contract.permissions})

    async def metrics(self, headers: Headers, scope: Scope) -> bytes | None:
        """The page of counters, for an operator or somebody on this machine; None for everybody else."""
        if not await self.reception.is_operator(headers, scope):
            return None
        troubles = self.stock.troubles
        upstreams = {name: (name not in troubles, self.wiring.failures(name)) for name in self.links}
        return render(self.tally, Standing(len(self._public_tools()), len(self.sessions), upstreams))

    def troubles(self) -> dict[str, str]:
        """What is wrong with which upstream."""
        return dict(self.stock.troubles)


_PER_CALL: Any = None


async def open_house(settings: Settings) -> House:
    """A house whose configuration holds; nothing listens yet."""
    house = House(settings, await open_store(settings.store))
    try:
        for link in house.links.values():
            if isinstance(link, OpenApiLink) and link.is_local:
                await link.load()
    except BaseException:
        await house.stop()
        raise
    return house


def _identity_of(caller: Principal) -> tuple[object, ...]:
    return caller.identity


async def _known(principal: Principal) -> Principal:
    return principal
