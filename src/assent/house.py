"""How is a gateway put together, kept up to date and taken down?"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import secrets as random
import time
import uuid
from collections.abc import Callable, Collection, Coroutine, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import orjson
from mcp.client.stdio import get_default_environment

from assent.anchoring import ledger_of
from assent.attention import Attention
from assent.bootstrap import contract_paths
from assent.contract.files import load_contracts, load_declared
from assent.contract.model import Contract
from assent.contract.profiles import profile as named_profile
from assent.core.catalogue import Catalogue, catalogue_of, catalogue_that_holds, safe_names
from assent.core.outcome import Refusal
from assent.core.pins import changed, read_pins
from assent.core.principal import Principal
from assent.edges.admission import Admission, credential_of, is_loopback
from assent.edges.api import Api
from assent.edges.api_keys import ApiKeys, record_key
from assent.edges.api_links import OpenApiLink
from assent.edges.challenges import challenge
from assent.edges.doors import Doors
from assent.edges.foreign import TakenIn, Terms, take_in
from assent.edges.gateway import Challenge, Gateway, Passage, Serve
from assent.edges.governed import Governed
from assent.edges.http import App, Headers, Scope
from assent.edges.inbound import read_head
from assent.edges.kept_keys import KeptKeys
from assent.edges.known import known_contracts
from assent.edges.links import HttpLink
from assent.edges.merged import Merged, Offer, Source
from assent.edges.notices import LISTS_CHANGED, TOOLS_CHANGED, Notices
from assent.edges.passages import Identity, OwnPassage, RelayPassage
from assent.edges.relay import Relay
from assent.edges.sealing import Seal
from assent.edges.sessions import SessionTable
from assent.edges.shelves import union_of
from assent.edges.stdio_links import StdioLink
from assent.edges.strangers import Strangers
from assent.edges.tokens import Issuer, Tokens
from assent.edges.upstreams.breaker import Breaker
from assent.edges.upstreams.child import Launch
from assent.edges.upstreams.faults import words
from assent.edges.upstreams.http import HttpUpstream
from assent.edges.upstreams.openapi.exchange import Send
from assent.edges.upstreams.openapi.pooled import send_over
from assent.edges.upstreams.pool import Limits, Pool
from assent.edges.upstreams.stdio import StdioUpstream
from assent.edges.upstreams.target import BadTarget, Target
from assent.errors import Fault, FaultsError, SettingsError, StoreError
from assent.keyring import Keyring
from assent.pipeline.approve import OPERATOR
from assent.pipeline.work import Work
from assent.ports import Ports, Store
from assent.settings import Caller, Settings, UpstreamSettings
from assent.signing import Signing
from assent.stores.address import open_store
from assent.telemetry import Standing, Tally, render

logger = logging.getLogger("assent")

LOAD_WITHIN = 10.0
DRAIN = 10.0
MOST_INSTRUCTIONS = 16_384


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
        self.tally = Tally()
        self.keys = KeptKeys(store, time.monotonic)
        self.strangers = Strangers(store.note, time.time)
        self.ports = self._make_ports()
        self.sessions = SessionTable(time.monotonic, lambda: random.token_urlsafe(24), who=_identity_of)
        self.notices = Notices(self.sessions)
        self.attention = Attention(self._refresh, lambda name: name in self._troubles, self._pass_on)
        self._gateway: Gateway | None = None
        self._retiring: set[asyncio.Future[None]] = set()
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
            self.attention.begin(name, self.links[name])

    async def stop(self, within: float = DRAIN) -> int:
        """Finish what is under way within a bound; how many effects were left in doubt."""
        await self.hush()
        await self.attention.end()
        left = await self.work.drain(within)
        for pool in self._pools:
            await pool.close()
        for retiring in self._retiring:
            retiring.cancel()
        await asyncio.gather(*self._retiring, return_exceptions=True)
        with suppress(StoreError):
            self.strangers.write()
        stdio = [link.upstream.close() for link in self.links.values() if isinstance(link, StdioLink)]
        await asyncio.gather(*stdio)
        if self.signing is not None:
            await self.signing.stop()
        await self.store.close()
        return left

    async def hush(self) -> None:
        """End the streams that have no end of their own; calls go on."""
        self.notices.end()
        for pool in self._pools:
            if pool.limits is _STREAMS:
                await pool.close()

    async def adopt(self, settings: Settings) -> None:
        """Live by other settings from now on, or raise with every fault and change nothing.

        New upstreams are asked for their tools before anything is swapped, removed ones finish what is under way.
        """
        contracts = _contracts(settings)
        kept = {name: one for name, one in settings.upstreams.items() if self.settings.upstreams.get(name) == one}
        before, pools = dict(self.links), list(self._pools)
        fresh: dict[str, Any] = {}
        try:
            for name, one in settings.upstreams.items():
                if name not in kept:
                    fresh[name] = self._link(name, one)
            loaded = dict(zip(fresh, await asyncio.gather(*map(_loaded, fresh.values())), strict=True))
            known = {name: definitions for name, (definitions, _) in self._said.items()}
            self._check_names(settings, contracts, {**known, **loaded})
        except BaseException:
            made, self._pools[:] = self._pools[len(pools) :], pools
            await asyncio.gather(*(pool.close() for pool in made))
            raise
        gone = [pool for pool in pools if pool.name.removesuffix(" (test)") not in kept]
        for name in before.keys() - kept.keys():
            await self.attention.leave(name)
        self._pools[:] = [pool for pool in self._pools if pool not in gone]
        self._swap(settings, contracts, fresh, loaded)
        for name in fresh:
            self.attention.begin(name, fresh[name])
        for name in kept:
            self.attention.look_at(name)
        for name, link in before.items():
            if name not in kept and isinstance(link, StdioLink):
                self._soon(link.upstream.close())
        for pool in gone:
            self._retiring.add(task := asyncio.ensure_future(pool.retire(0 if pool.limits is _STREAMS else _RETIRE)))
            task.add_done_callback(self._retiring.discard)
        if before.keys() != kept.keys() or fresh:
            self._forget_watches(kept.keys())
            for message in LISTS_CHANGED:
                self.notices.publish(message)

    def _forget_watches(self, kept: Collection[str]) -> None:
        """What was watched at an upstream that is gone is watched no more: who still wants it asks again."""
        for session in self.sessions:
            for uri, name in list(session.subscriptions.items()):
                if name not in kept:
                    session.subscriptions.pop(uri)
                    session.at_end.pop(f"watch {uri}", None)

    def _swap(self, settings: Settings, contracts: Any, fresh: dict[str, Any], loaded: Any) -> None:
        """From the old to the new without a pause in between."""
        links = {name: fresh.get(name) or self.links[name] for name in settings.upstreams}
        self.settings, (self.contracts, self.declared) = settings, contracts
        self.links.clear()
        self.links.update(links)
        known = {name: one for name, (one, _) in self._said.items() if name in links and name not in fresh}
        self._troubles = {name: why for name, why in self._troubles.items() if name in links and name not in fresh}
        for name, definitions in loaded.items():
            if isinstance(definitions, list):
                known[name] = definitions
            else:
                self._troubles[name] = definitions
        for link in links.values():
            if isinstance(link, HttpLink):
                link.relayed = len(links) == 1
        self._said = {name: (found, self._unaccepted(name, found)) for name, found in known.items()}
        self._taken = {name: self._take_in(name, found) for name, found in known.items()}
        self.ports = self._make_ports()
        if self._gateway is not None:
            self._governed.renew(self.ports, self._server_info(), self._metadata_url())
            self._gateway.passage, self._gateway.more = self._passage(self.sessions), self._more()
            self._gateway.other = self._api()
        self._publish()

    def _check_names(self, settings: Settings, contracts: Any, definitions: dict[str, Any]) -> None:
        """Raise where the new tools would get into each other's way."""
        old = self.settings, (self.contracts, self.declared)
        self.settings, (self.contracts, self.declared) = settings, contracts
        try:
            served = {name: found for name, found in definitions.items() if name in settings.upstreams}
            taken = [self._take_in(name, found) for name, found in served.items() if isinstance(found, list)]
            tools = [tool for one in taken for tool in one.tools]
            if settings.names == "safe":
                safe_names(tool.wire_name for tool in tools)
            catalogue_of(tools, {})
        finally:
            self.settings, (self.contracts, self.declared) = old

    def app(self, other: App) -> Gateway:
        """The MCP endpoint and `/api`; `other` answers for every other path."""
        self._other = other
        self._governed = governed = self.governed()
        self._gateway = Gateway(
            authenticate=self._authenticate,
            listing=governed.listing,
            call=governed.call,
            passage=self._passage(self.sessions),
            sessions=self.sessions,
            other=self._api(),
            doors=Doors([self.settings.public_url]),
            more=self._more(),
        )
        return self._gateway

    def governed(self) -> Governed:
        """The sentence, for any edge."""
        return Governed(
            self.ports,
            self.links,
            Seal(self.keyring.key("sealing"), time.time),
            server_info=self._server_info(),
            metadata_url=self._metadata_url(),
            took=self.tally.took,
        )

    def _api(self) -> Api:
        doors = Doors([self.settings.public_url])
        return Api(self.ports, self._authenticate, doors, self.settings.public_url, self._other)

    def _passage(self, sessions: SessionTable) -> Passage:
        if self._relays():
            calls, streams = self._pools_of(next(iter(self.links)))
            test = self._pools_of(f"{next(iter(self.links))} (test)")
            relay = Relay(test[0], test[1]) if test else None
            return RelayPassage(Relay(calls, streams), sessions, self.notices, relay)
        return OwnPassage(self._identity, sessions)

    def _relays(self) -> bool:
        """Whether everything but tools is relayed to the one upstream there is."""
        return len(self.links) == 1 and isinstance(next(iter(self.links.values())), HttpLink)

    def _more(self) -> dict[str, Serve]:
        return {} if self._relays() else Merged(self._offers, self.notices).methods()

    def _offers(self) -> list[Offer]:
        return [
            Offer(link, self._terms(name).canonical, self.attention.ears[name])
            for name, link in self.links.items()
            if isinstance(link, Source) and name in self.attention.ears
        ]

    def _identity(self) -> Identity:
        """Who we are before several: what they can do together, and what each wants to be said of it."""
        described = {name: getattr(link, "described", None) for name, link in self.links.items()}
        known = {name: one for name, one in described.items() if one is not None}
        said = [f"{name}: {one.instructions}" for name, one in known.items() if one.instructions]
        capabilities = union_of([one.capabilities for one in known.values()])
        return Identity(self._server_info(), capabilities, "\n\n".join(said)[:MOST_INSTRUCTIONS] or None)

    def _pass_on(self, message: dict[str, Any]) -> None:
        if not self._relays():  # otherwise it reaches the client on the upstream's own stream
            self.notices.publish(message)

    def _pools_of(self, name: str) -> list[Pool]:
        return [pool for pool in self._pools if pool.name == name]

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
        except StoreError:
            unavailable = Refusal("record.unavailable")
            raise Challenge(unavailable.status, unavailable.problem(), []) from None
        except Refusal as refusal:
            self.strangers.turned_away(refusal.code, scope)
            asked_for = challenge(refusal, None, self._metadata_url())
            assert asked_for is not None
            raise Challenge(asked_for[0], refusal.problem(), [(b"www-authenticate", asked_for[1].encode())]) from None

    def _make_ports(self) -> Ports:
        settings = self.settings
        self.admission = Admission(
            keys=ApiKeys(record_key(key.key, principal_of(key)) for key in settings.auth.api_keys),
            kept_key=self.keys.find,
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
            seen=self.tally.see,
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
        """Do something aside; it is waited for when the house stops."""
        task = asyncio.ensure_future(work)
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    def _api_link(self, name: str, upstream: UpstreamSettings, source: str) -> OpenApiLink:
        assert upstream.base_url is not None
        live = self._api_end(name, upstream.base_url, upstream.headers, upstream.timeout)
        test = None
        if upstream.test is not None:
            test = self._api_end(f"{name} (test)", upstream.test.url, upstream.test.headers, upstream.timeout)
        return OpenApiLink(name, source, live, test, fetch=fetch_text if "://" in source else None)

    def _api_end(self, name: str, base: str, headers: Mapping[str, str], timeout: int) -> tuple[str, Send]:
        target, breaker = _target(name, base, headers), Breaker(name, time.monotonic)
        pool = Pool(name, target, Limits(silence=float(timeout)), breaker)
        self._pools.append(pool)
        return base, send_over(pool)

    def _server(self, name: str, url: str, headers: Mapping[str, str], timeout: int) -> HttpUpstream:
        target, breaker = _target(name, url, headers), Breaker(name, time.monotonic)
        calls = Pool(name, target, Limits(silence=float(timeout)), breaker)
        streams = Pool(name, target, _STREAMS, breaker)
        self._pools += [calls, streams]
        return HttpUpstream(calls, {"name": "assent", "version": version("assent")}, streams)

    async def reload(self, name: str) -> None:
        """Ask one upstream for its tools now."""
        await self._refresh(name)

    async def _refresh(self, name: str) -> None:
        """Ask one upstream for its tools, and put what it says into a new catalogue."""
        try:
            definitions = await self.links[name].load()
            unaccepted = self._unaccepted(name, definitions)
            is_new = (definitions, unaccepted) != self._said.get(name)
            taken = self._take_in(name, definitions) if is_new else None
        except Exception as error:
            trouble = str(error) if isinstance(error, FaultsError) else words(error)
            if self._troubles.get(name) != trouble:
                logger.warning("upstream %s: %s", name, trouble)
            self._troubles[name] = trouble
            return
        self._troubles.pop(name, None)
        if taken is not None:
            self._said[name], self._taken[name] = (definitions, unaccepted), taken
            for tool, reason in unaccepted.items():
                logger.warning("upstream %s: %s is withheld: %s", name, tool, reason)
            self._publish()

    def _take_in(self, name: str, definitions: list[dict[str, Any]]) -> TakenIn:
        terms, unaccepted = self._terms(name), self._unaccepted(name, definitions)
        link = self.links.get(name)
        if isinstance(link, OpenApiLink):
            return link.take_in(self.declared, terms, unaccepted)
        described = link.described if link is not None else None
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
        catalogue = catalogue_that_holds(tools, withheld)
        for name in catalogue.withheld.keys() - withheld.keys() - self._catalogue.withheld.keys():
            logger.error("%s is withheld: %s", name, catalogue.withheld[name])
        differs = _shown(catalogue) != _shown(self._catalogue)
        self._catalogue = catalogue
        if differs and self.loaded.is_set():
            self.notices.publish(TOOLS_CHANGED)

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

    async def metrics(self, headers: Headers, scope: Scope) -> bytes | None:
        """The page of counters, for an operator or somebody on this machine; None for everybody else."""
        head = read_head(headers)
        if Doors([self.settings.public_url]).refuse(head.host, head.origin) is not None:
            return None
        forwarded = any(name in (b"forwarded", b"x-forwarded-for") for name, _ in headers)
        try:
            local = credential_of(headers) is None and is_loopback(scope) and not forwarded
            if not local and OPERATOR not in (await self.admission.admit(headers, scope)).roles:
                return None
        except Refusal:
            return None
        upstreams = {name: (name not in self._troubles, self._failures(name)) for name in self.links}
        return render(self.tally, Standing(len(self._catalogue.tools), len(self.sessions), upstreams))

    def _failures(self, name: str) -> int:
        return max((pool.health.failures for pool in self._pools_of(name)), default=0)

    def troubles(self) -> dict[str, str]:
        """What is wrong with which upstream."""
        return dict(self._troubles)


_PER_CALL: Any = None
_STREAMS = Limits(connections=1000)
_RETIRE = 300.0


async def _loaded(link: Any) -> list[dict[str, Any]] | str:
    """The tools of an upstream, or why it has none now."""
    try:
        async with asyncio.timeout(LOAD_WITHIN):
            return cast("list[dict[str, Any]]", await link.load())
    except Exception as error:
        return words(error)


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


async def has_kept_keys(settings: Settings) -> bool:
    """Whether the store knows a key that lets somebody in."""
    store = await open_store(settings.store)
    try:
        return any(not record.revoked for record in await store.keys())
    finally:
        await store.close()


def check_bind(settings: Settings, host: str, kept: Callable[[], bool] = lambda: False) -> None:
    """A socket that others can reach needs callers to be known; anonymous ones are for this machine alone.

    `kept` says whether there are keys in the store; it is asked only where that matters.
    """
    if is_loopback_host(host):
        return
    if settings.auth.anonymous is not None:
        raise SettingsError(
            Fault(f"anonymous callers are not accepted on {host}", "Remove it, or bind to 127.0.0.1", "auth.anonymous")
        )
    if not settings.auth.api_keys and settings.auth.jwt is None and not kept():
        raise SettingsError(
            Fault(
                f"{host} can be reached by others and nobody need authenticate",
                "Add auth.api_keys or auth.jwt, or make a key: assent keys create",
                "auth",
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


def _identity_of(caller: Principal) -> tuple[object, ...]:
    return caller.identity


async def _known(principal: Principal) -> Principal:
    return principal


def _shown(catalogue: Catalogue) -> dict[str, Any]:
    """What a caller could notice of a catalogue."""
    return {name: (tool.definition, tool.contract.digest) for name, tool in catalogue.tools.items()}


def _target(name: str, url: str, headers: Mapping[str, str]) -> Target:
    try:
        return Target.of(url, headers)
    except BadTarget as error:
        raise SettingsError(Fault(str(error), "Correct the address", f"upstreams.{name}")) from None


def _contracts(settings: Settings) -> tuple[dict[str, Contract], dict[str, dict[str, Any]]]:
    """The contracts of the files, whole and as they were written."""
    paths = contract_paths(settings.contracts) if settings.contracts else []
    return load_contracts(paths), load_declared(paths)
