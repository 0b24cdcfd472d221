"""How is a gateway put together, kept up to date and taken down?"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import secrets as random
import time
import uuid
from collections.abc import Coroutine, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson
from mcp.client.stdio import get_default_environment

from assent.bootstrap import contract_paths
from assent.contract.files import load_contracts, load_declared
from assent.contract.model import Contract
from assent.contract.profiles import profile as named_profile
from assent.core.catalogue import Catalogue, catalogue_of, safe_names
from assent.core.outcome import Refusal
from assent.core.pins import changed, read_pins
from assent.core.principal import Principal
from assent.edges.admission import Admission
from assent.edges.api_keys import ApiKeys, record_key
from assent.edges.api_links import OpenApiLink
from assent.edges.challenges import challenge
from assent.edges.doors import Doors
from assent.edges.foreign import TakenIn, Terms, take_in
from assent.edges.gateway import Challenge, Gateway, Passage
from assent.edges.governed import Governed
from assent.edges.http import App, Headers, Scope
from assent.edges.known import known_contracts
from assent.edges.links import HttpLink
from assent.edges.passages import Identity, OwnPassage, RelayPassage
from assent.edges.relay import Relay
from assent.edges.sealing import Seal
from assent.edges.sessions import SessionTable
from assent.edges.stdio_links import StdioLink
from assent.edges.tokens import Issuer, Tokens
from assent.edges.upstreams.breaker import Breaker
from assent.edges.upstreams.child import Launch
from assent.edges.upstreams.faults import Fault as UpstreamFault
from assent.edges.upstreams.http import HttpUpstream
from assent.edges.upstreams.openapi.exchange import Send
from assent.edges.upstreams.openapi.pooled import send_over
from assent.edges.upstreams.pool import Limits, Pool
from assent.edges.upstreams.stdio import StdioUpstream
from assent.edges.upstreams.target import BadTarget, Target
from assent.errors import ContractError, Fault, FaultsError, SettingsError, StoreError
from assent.keyring import Keyring
from assent.pipeline.work import Work
from assent.ports import Ports, Store
from assent.settings import Caller, Settings, UpstreamSettings
from assent.stores.address import open_store

logger = logging.getLogger("assent")

REFRESH = 30.0
RETRY = 2.0
DRAIN = 10.0


class House:
    """One running gateway: its upstreams, its catalogue, its doors."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings, self.store = settings, store
        self.keyring = Keyring(Path(settings.secrets.directory))
        self.contracts, self.declared = _contracts(settings)
        self._pools: list[Pool] = []
        self.links = {name: self._link(name, upstream) for name, upstream in settings.upstreams.items()}
        self._said: dict[str, tuple[list[dict[str, Any]], dict[str, str]]] = {}
        self._taken: dict[str, TakenIn] = {}
        self._troubles: dict[str, str] = dict.fromkeys(settings.upstreams, "it has not answered yet")
        self._catalogue = Catalogue()
        self.loaded = asyncio.Event()
        self.work = Work(store, time.time, retention=settings.defaults.idempotency.retention)
        self.ports = self._make_ports()
        self._tasks: set[asyncio.Task[Any]] = set()

    def catalogue(self) -> Catalogue:
        return self._catalogue

    async def start(self) -> None:
        """Ask every upstream for its tools. One that does not answer is tried again; the others do not wait for it."""
        await asyncio.gather(*(self._refresh(name) for name in self.links))
        self.loaded.set()
        for name in self.links:
            self._soon(self._keep_fresh(name))

    async def stop(self, within: float = DRAIN) -> int:
        """Finish what is under way within a bound; how many effects were left in doubt."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        left = await self.work.drain(within)
        for pool in self._pools:
            await pool.close()
        await asyncio.gather(*(link.upstream.close() for link in self.links.values() if isinstance(link, StdioLink)))
        await self.store.close()
        return left

    def app(self, other: App) -> Gateway:
        """The MCP endpoint; `other` answers for every other path."""
        sessions = SessionTable(time.monotonic, lambda: random.token_urlsafe(24))
        governed = self.governed()
        return Gateway(
            authenticate=self._authenticate,
            listing=governed.listing,
            call=governed.call,
            passage=self._passage(sessions),
            sessions=sessions,
            other=other,
            doors=Doors([self.settings.public_url]),
        )

    def governed(self) -> Governed:
        """The sentence, for any edge."""
        return Governed(
            self.ports,
            self.links,
            Seal(self.keyring.key("sealing"), time.time),
            server_info=self._server_info(),
            metadata_url=self._metadata_url(),
        )

    def _passage(self, sessions: SessionTable) -> Passage:
        if len(self.links) == 1 and isinstance(next(iter(self.links.values())), HttpLink):
            calls, streams = self._pools[0], self._pools[1]
            return RelayPassage(Relay(calls, streams), sessions)
        return OwnPassage(Identity(self._server_info(), {"tools": {"listChanged": True}}), sessions)

    def _server_info(self) -> dict[str, Any]:
        described = next(iter(self.links.values())).described if len(self.links) == 1 else None
        return described.info if described and described.info else {"name": "assent", "version": version("assent")}

    def _metadata_url(self) -> str | None:
        if self.settings.auth.jwt is None:
            return None
        return f"{self.settings.public_url.rstrip('/')}/.well-known/oauth-protected-resource"

    async def _authenticate(self, headers: Headers, scope: Scope) -> Principal:
        try:
            return await self.admission.admit(headers, scope)
        except Refusal as refusal:
            asked_for = challenge(refusal, None, self._metadata_url())
            assert asked_for is not None
            raise Challenge(asked_for[0], refusal.problem(), [(b"www-authenticate", asked_for[1].encode())]) from None

    def _make_ports(self) -> Ports:
        settings = self.settings
        self.admission = Admission(
            keys=ApiKeys(record_key(key.key, principal_of(key)) for key in settings.auth.api_keys),
            tokens=self._tokens(),
            anonymous=principal_of(settings.auth.anonymous, "anonymous") if settings.auth.anonymous else None,
        )
        return Ports(
            catalogue=self.catalogue,
            store=self.store,
            upstream=_PER_CALL,
            authenticate=_known,
            now=time.time,
            new_id=lambda: uuid.uuid4().hex,
            work=self.work,
            derive_key=self.keyring.derive,
            guards=settings.rules(),
            mode=settings.mode,
            limits=settings.limits,
            budgets=settings.budgets,
            most_pending=settings.approvals.most_pending,
            cooldown=settings.approvals.cooldown,
            approval_url=lambda approval: f"{settings.public_url.rstrip('/')}/console/approvals/{approval}",
            retention=settings.defaults.idempotency.retention,
        )

    def _tokens(self) -> Tokens | None:
        jwt = self.settings.auth.jwt
        if jwt is None:
            return None
        issuer = Issuer(jwt.issuer, jwt.audience, jwt.algorithms, jwt.jwks_url, jwt.kind, jwt.tenant)
        return Tokens(issuer, fetch_json, time.time)

    def _link(self, name: str, upstream: UpstreamSettings) -> HttpLink | OpenApiLink | StdioLink:
        if upstream.openapi is not None:
            return self._api_link(name, upstream, upstream.openapi)
        if upstream.command is not None:
            return self._stdio_link(name, upstream, upstream.command)
        assert upstream.url is not None
        live = self._server(name, upstream.url, upstream.headers, upstream.timeout)
        test = None
        if upstream.test is not None:
            test = self._server(f"{name} (test)", upstream.test.url, upstream.test.headers, upstream.timeout)
        return HttpLink(name, live, test, relayed=len(self.settings.upstreams) == 1)

    def _stdio_link(self, name: str, upstream: UpstreamSettings, command: tuple[str, ...]) -> StdioLink:
        # Our own environment holds the credentials of every upstream: each gets what it is given and the harmless rest.
        launch = Launch(name, command, get_default_environment() | upstream.env, upstream.cwd)
        server = StdioUpstream(
            launch,
            {"name": "assent", "version": version("assent")},
            mark=f"assent-{random.token_hex(4)}",
            clock=time.monotonic,
            patience=float(upstream.timeout),
        )
        server.on_changed = lambda: self._soon(self._refresh(name))
        return StdioLink(server)

    def _soon(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _api_link(self, name: str, upstream: UpstreamSettings, source: str) -> OpenApiLink:
        assert upstream.base_url is not None
        live = self._api(name, upstream.base_url, upstream.headers, upstream.timeout)
        test = None
        if upstream.test is not None:
            test = self._api(f"{name} (test)", upstream.test.url, upstream.test.headers, upstream.timeout)
        return OpenApiLink(name, source, live, test, fetch=fetch_text if "://" in source else None)

    def _api(self, name: str, base: str, headers: Mapping[str, str], timeout: int) -> tuple[str, Send]:
        target, breaker = _target(name, base, headers), Breaker(name, time.monotonic)
        pool = Pool(name, target, Limits(silence=float(timeout)), breaker)
        self._pools.append(pool)
        return base, send_over(pool)

    def _server(self, name: str, url: str, headers: Mapping[str, str], timeout: int) -> HttpUpstream:
        target, breaker = _target(name, url, headers), Breaker(name, time.monotonic)
        calls = Pool(name, target, Limits(silence=float(timeout)), breaker)
        self._pools += [calls, Pool(name, target, Limits(connections=1000), breaker)]
        return HttpUpstream(calls, {"name": "assent", "version": version("assent")})

    async def reload(self, name: str) -> None:
        """Ask one upstream for its tools now."""
        await self._refresh(name)

    async def _refresh(self, name: str) -> None:
        """Ask one upstream for its tools, and put what it says into a new catalogue."""
        try:
            definitions = await self.links[name].load()
        except Exception as error:
            known = isinstance(error, UpstreamFault | FaultsError)
            trouble = str(error) if known else f"it does not speak the protocol: {error}"
            if self._troubles.get(name) != trouble:
                logger.warning("upstream %s: %s", name, trouble)
            self._troubles[name] = trouble
            return
        self._troubles.pop(name, None)
        unaccepted = self._unaccepted(name, definitions)
        if (definitions, unaccepted) != self._said.get(name):
            self._said[name] = definitions, unaccepted
            self._taken[name] = self._take_in(name, definitions, unaccepted)
            for tool, reason in unaccepted.items():
                logger.warning("upstream %s: %s is withheld: %s", name, tool, reason)
            self._publish()

    def _take_in(self, name: str, definitions: list[dict[str, Any]], unaccepted: dict[str, str]) -> TakenIn:
        link = self.links[name]
        if isinstance(link, OpenApiLink):
            return link.take_in(self.declared, self._terms(name), unaccepted)
        terms, described = self._terms(name), link.described
        known = known_contracts(str(described.info.get("name")), definitions, terms) if described else {}
        return take_in(definitions, {**known, **self.contracts}, terms, unaccepted)

    def _unaccepted(self, name: str, definitions: list[dict[str, Any]]) -> dict[str, str]:
        """What differs from what a person accepted. Before the first `assent pin --write` nothing was accepted yet."""
        if self.settings.pins is None or not Path(self.settings.pins).exists():
            return {}
        pins = read_pins(Path(self.settings.pins).read_text(encoding="utf-8"), self.settings.pins)
        return changed(pins.get(name, {}), definitions)

    def _publish(self) -> None:
        """Swap the catalogue for one made of what every upstream last said. Calls under way keep the old one."""
        tools = [tool for taken in self._taken.values() for tool in taken.tools]
        withheld = {name: why for taken in self._taken.values() for name, why in taken.withheld.items()}
        try:
            if self.settings.names == "safe":
                safe_names(tool.wire_name for tool in tools)
            self._catalogue = catalogue_of(tools, withheld)
        except ContractError as error:
            logger.error("the new list of tools is not used: %s", error)

    async def _keep_fresh(self, name: str) -> None:
        while True:
            await asyncio.sleep(RETRY if name in self._troubles else REFRESH)
            await self._refresh(name)

    def _terms(self, name: str) -> Terms:
        settings, upstream = self.settings, self.settings.upstreams[name]
        prefix = upstream.prefix
        if prefix is None:
            prefix = f"{name}_" if len(settings.upstreams) > 1 else ""
        return Terms(
            upstream=name,
            profile=named_profile(upstream.profile or settings.profile),
            prefix=prefix,
            trust=upstream.trust,
            without_contract=settings.without_contract,
            safe_names=settings.names == "safe",
            has_test=upstream.test is not None,
            historic_names=upstream.historic_names,
        )

    def is_loaded(self) -> bool:
        return self.loaded.is_set()

    async def is_ready(self) -> bool:
        """Whether calls can be taken: the catalogue is there and the store answers."""
        try:
            await self.store.recall("")
        except StoreError:
            return False
        return self.loaded.is_set()

    def resource_metadata(self) -> dict[str, Any] | None:
        """RFC 9728: where tokens for this resource come from."""
        jwt = self.settings.auth.jwt
        if jwt is None:
            return None
        scopes = sorted({p for tool in self._catalogue.tools.values() for p in tool.contract.permissions})
        return {
            "resource": f"{self.settings.public_url.rstrip('/')}/mcp",
            "authorization_servers": [jwt.issuer],
            "bearer_methods_supported": ["header"],
            "scopes_supported": scopes,
        }

    def troubles(self) -> dict[str, str]:
        """What is wrong with which upstream."""
        return dict(self._troubles)


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


def check_bind(settings: Settings, host: str) -> None:
    """A socket that others can reach needs callers to be known; anonymous ones are for this machine alone."""
    if is_loopback_host(host):
        return
    if settings.auth.anonymous is not None:
        raise SettingsError(
            Fault(f"anonymous callers are not accepted on {host}", "Remove it, or bind to 127.0.0.1", "auth.anonymous")
        )
    if not settings.auth.api_keys and settings.auth.jwt is None:
        raise SettingsError(
            Fault(
                f"{host} can be reached by others and nobody need authenticate", "Add auth.api_keys or auth.jwt", "auth"
            )
        )


def is_loopback_host(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def principal_of(caller: Caller, name: str | None = None) -> Principal:
    """A configured caller as a principal."""
    return Principal(
        id=caller.name or name or "local",
        kind=caller.kind,
        tenant=caller.tenant,
        scopes=frozenset(caller.scopes),
        roles=frozenset(caller.roles),
        mode=caller.mode,
    )


async def fetch_json(url: str) -> Any:
    """A JSON document from an address that configuration named."""
    return orjson.loads(await fetch(url, 1024 * 1024, "identity provider"))


async def fetch_text(url: str) -> str:
    """An API description from an address that configuration named."""
    return (await fetch(url, 64 * 1024 * 1024, "API description")).decode("utf-8")


async def fetch(url: str, most: int, what: str) -> bytes:
    """What lies at an address that configuration named; bounded, and no redirects."""
    limits, breaker = Limits(connections=1, silence=5, total=10), Breaker(what, time.monotonic)
    pool = Pool(what, Target.of(url), limits, breaker)
    try:
        response = await pool.send(b"GET", [(b"accept", b"application/json")], safe=True)
        if response.status != 200:
            raise ValueError(f"answered {response.status}")
        return await response.read(most)
    finally:
        await pool.close()


async def _known(principal: Principal) -> Principal:
    return principal


def _target(name: str, url: str, headers: Mapping[str, str]) -> Target:
    try:
        return Target.of(url, headers)
    except BadTarget as error:
        raise SettingsError(Fault(str(error), "Correct the address", f"upstreams.{name}")) from None


def _contracts(settings: Settings) -> tuple[dict[str, Contract], dict[str, dict[str, Any]]]:
    """The contracts of the files, whole and as they were written."""
    paths = contract_paths(settings.contracts) if settings.contracts else []
    return load_contracts(paths), load_declared(paths)
