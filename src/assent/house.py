"""How is a gateway put together, kept up to date and taken down?"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import secrets as random
import time
import uuid
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson

from assent.anchoring import ledger_of
from assent.bootstrap import contract_paths
from assent.contract.files import load_contracts
from assent.contract.model import Contract
from assent.contract.profiles import profile as named_profile
from assent.core.catalogue import Catalogue, catalogue_of, safe_names
from assent.core.outcome import Refusal
from assent.core.pins import changed, read_pins
from assent.core.principal import Principal
from assent.edges.admission import Admission
from assent.edges.api_keys import ApiKeys, record_key
from assent.edges.challenges import challenge
from assent.edges.doors import Doors
from assent.edges.foreign import TakenIn, Terms, take_in
from assent.edges.gateway import Challenge, Gateway, Passage
from assent.edges.governed import Governed
from assent.edges.http import App, Headers, Scope
from assent.edges.links import HttpLink
from assent.edges.passages import Identity, OwnPassage, RelayPassage
from assent.edges.relay import Relay
from assent.edges.sealing import Seal
from assent.edges.sessions import SessionTable
from assent.edges.tokens import Issuer, Tokens
from assent.edges.upstreams.breaker import Breaker
from assent.edges.upstreams.faults import Fault as UpstreamFault
from assent.edges.upstreams.http import HttpUpstream
from assent.edges.upstreams.pool import Limits, Pool
from assent.edges.upstreams.target import BadTarget, Target
from assent.errors import ContractError, Fault, SettingsError, StoreError
from assent.keyring import Keyring
from assent.pipeline.work import Work
from assent.ports import Ports, Store
from assent.settings import Caller, Settings, UpstreamSettings
from assent.signing import Signing
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
        self.contracts = _contracts(settings)
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
        self.signing = None if settings.store.startswith("memory:") else Signing(ledger_of(settings, store))

    def catalogue(self) -> Catalogue:
        return self._catalogue

    async def start(self) -> None:
        """Ask every upstream for its tools. One that does not answer is tried again; the others do not wait for it."""
        await asyncio.gather(*(self._refresh(name) for name in self.links))
        self.loaded.set()
        if self.signing is not None:
            self.signing.start()
        for name in self.links:
            task = asyncio.create_task(self._keep_fresh(name))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def stop(self) -> int:
        """Finish what is under way within a bound; how many effects were left in doubt."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        left = await self.work.drain(DRAIN)
        for pool in self._pools:
            await pool.close()
        if self.signing is not None:
            await self.signing.stop()
        await self.store.close()
        return left

    def app(self, other: App) -> Gateway:
        """The MCP endpoint; `other` answers for every other path."""
        sessions = SessionTable(time.monotonic, lambda: random.token_urlsafe(24))
        governed = Governed(
            self.ports,
            self.links,
            Seal(self.keyring.key("sealing"), time.time),
            server_info=self._server_info(),
            metadata_url=self._metadata_url(),
        )
        return Gateway(
            authenticate=self._authenticate,
            listing=governed.listing,
            call=governed.call,
            passage=self._passage(sessions),
            sessions=sessions,
            other=other,
            doors=Doors([self.settings.public_url]),
        )

    def _passage(self, sessions: SessionTable) -> Passage:
        if len(self.links) == 1:
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

    def _link(self, name: str, upstream: UpstreamSettings) -> HttpLink:
        if upstream.url is None:
            field = f"upstreams.{name}"
            raise SettingsError(Fault("this kind of upstream cannot be served yet", "Give a url", field))
        live = self._server(name, upstream.url, upstream.headers, upstream.timeout)
        test = None
        if upstream.test is not None:
            test = self._server(f"{name} (test)", upstream.test.url, upstream.test.headers, upstream.timeout)
        return HttpLink(name, live, test, relayed=len(self.settings.upstreams) == 1)

    def _server(self, name: str, url: str, headers: Mapping[str, str], timeout: int) -> HttpUpstream:
        try:
            target = Target.of(url, headers)
        except BadTarget as error:
            raise SettingsError(Fault(str(error), "Correct the address", f"upstreams.{name}.url")) from None
        breaker = Breaker(name, time.monotonic)
        calls = Pool(name, target, Limits(silence=float(timeout)), breaker)
        self._pools += [calls, Pool(name, target, Limits(connections=1000), breaker)]
        return HttpUpstream(calls, {"name": "assent", "version": version("assent")})

    async def _refresh(self, name: str) -> None:
        """Ask one upstream for its tools, and put what it says into a new catalogue."""
        try:
            definitions = await self.links[name].load()
        except Exception as error:
            known = isinstance(error, UpstreamFault)
            trouble = str(error) if known else f"it does not speak the protocol: {error}"
            if self._troubles.get(name) != trouble:
                logger.warning("upstream %s: %s", name, trouble)
            self._troubles[name] = trouble
            return
        self._troubles.pop(name, None)
        unaccepted = self._unaccepted(name, definitions)
        if (definitions, unaccepted) != self._said.get(name):
            self._said[name] = definitions, unaccepted
            self._taken[name] = take_in(definitions, self.contracts, self._terms(name), unaccepted)
            for tool, reason in unaccepted.items():
                logger.warning("upstream %s: %s is withheld: %s", name, tool, reason)
            self._publish()

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
    return House(settings, await open_store(settings.store))


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
    """A JSON document from an address that configuration named; bounded, and no redirects."""
    limits, breaker = Limits(connections=1, silence=5, total=10), Breaker("identity provider", time.monotonic)
    pool = Pool("identity provider", Target.of(url), limits, breaker)
    try:
        response = await pool.send(b"GET", [(b"accept", b"application/json")], safe=True)
        if response.status != 200:
            raise ValueError(f"answered {response.status}")
        return orjson.loads(await response.read(1024 * 1024))
    finally:
        await pool.close()


async def _known(principal: Principal) -> Principal:
    return principal


def _contracts(settings: Settings) -> dict[str, Contract]:
    return load_contracts(contract_paths(settings.contracts)) if settings.contracts else {}
