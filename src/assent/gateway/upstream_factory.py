"""Creates the connections to configured upstreams and closes them."""

from __future__ import annotations

import asyncio
import os
import secrets as random
import time
from collections.abc import Coroutine, Iterable, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from assent.config.model import Settings, UpstreamClient, UpstreamSettings
from assent.errors import Fault, SettingsError
from assent.features import load_feature
from assent.ports import Store
from assent.upstreams.credentials import CredentialOwner, Credentials
from assent.upstreams.http.address import BadAddress, UpstreamAddress
from assent.upstreams.http.circuit_breaker import CircuitBreaker
from assent.upstreams.http.client import HttpUpstream
from assent.upstreams.http.fetch import fetch_text
from assent.upstreams.http.link import HttpLink
from assent.upstreams.http.pool import Limits, Pool
from assent.upstreams.link import UpstreamLink
from assent.upstreams.stdio.link import StdioLink
from assent.upstreams.stdio.process import LaunchSpec, StartProcess, inherited_environment
from assent.upstreams.stdio.server import StdioUpstream
from assent.upstreams.vault import CredentialVault

if TYPE_CHECKING:
    from assent.upstreams.oauth.tokens import ExchangeTerms, TokenSource
    from assent.upstreams.sandbox.link import BoxPlan, SandboxedLink
    from assent.upstreams.stdio.person_processes import PersonProcesses

_STREAMS = Limits(connections=1000)
_RETIRE = 300.0


class UpstreamFactory:
    """Creates links and their connection pools, and closes them when the gateway stops or an upstream is removed."""

    def __init__(
        self,
        vault: CredentialVault,
        store: Store | None = None,
        environment: Mapping[str, str] = os.environ,
        umask: int = -1,
    ) -> None:
        """`store` keeps what sandboxed servers used. Child processes get their variables from `environment`."""
        self._vault, self._store, self._environment, self._umask = vault, store, environment, umask
        self._tokens: dict[str, TokenSource] = {}
        self._processes: dict[str, PersonProcesses] = {}
        self._sandboxed: dict[str, SandboxedLink] = {}
        self.pools: list[Pool] = []
        self.retiring: set[asyncio.Future[None]] = set()

    def link(self, name: str, upstream: UpstreamSettings, *, provider: str = "") -> UpstreamLink:
        """The link to an upstream, with its own pools. `provider` is the issuer of callers' tokens."""
        before = len(self.pools)
        link = self._make(name, upstream, provider)
        link.pools = tuple(self.pools[before:])
        return link

    def _make(self, name: str, upstream: UpstreamSettings, provider: str) -> UpstreamLink:
        if upstream.openapi is not None:
            return self._api_link(name, upstream, upstream.openapi)
        if upstream.command is not None:
            return self._stdio_link(name, upstream, upstream.command)
        assert upstream.url is not None
        live = self._server(name, upstream, upstream.url, upstream.headers, provider)
        test = None
        if upstream.test is not None:
            test = self._server(f"{name} (test)", upstream, upstream.test.url, upstream.test.headers, provider)
        return HttpLink(name, live, test, per_user=upstream.identity == "per_user")

    def pools_of(self, name: str) -> list[Pool]:
        return [pool for pool in self.pools if pool.name == name]

    def failures(self, name: str) -> int:
        return max((pool.health.failures for pool in self.pools_of(name)), default=0)

    async def close_streams(self) -> None:
        """Ends the long-lived streams; calls continue."""
        for pool in self.pools:
            if pool.limits is _STREAMS:
                await pool.close()

    async def close(self) -> None:
        """Closes every connection and cancels background work."""
        for pool in self.pools:
            await pool.close()
        for retiring in self.retiring:
            retiring.cancel()
        await asyncio.gather(*self.retiring, return_exceptions=True)

    async def rollback(self, before: list[Pool], links: Iterable[UpstreamLink]) -> None:
        """Closes everything that was created after `before`."""
        made, self.pools[:] = self.pools[len(before) :], before
        await asyncio.gather(*(pool.close() for pool in made), *(link.close() for link in links))

    def detach(self, gone: Iterable[UpstreamLink]) -> list[Pool]:
        """Removes and returns the pools of removed links, so that new calls do not use them."""
        found = [pool for link in gone for pool in link.pools]
        self.pools[:] = [pool for pool in self.pools if pool not in found]
        return found

    async def close_all(self, links: Iterable[UpstreamLink]) -> None:
        """Closes every link and connection because the gateway stops; processes last."""
        links = list(links)
        await asyncio.gather(*(link.close() for link in links if not link.is_process))
        await self.close()
        await asyncio.gather(*(link.close() for link in links if link.is_process))

    def drain(self, links: Iterable[UpstreamLink], pools: Iterable[Pool]) -> None:
        """Closes removed upstreams once their running calls have ended."""
        for link in links:
            self._in_background(link.retire(_RETIRE))
        for pool in pools:
            self._in_background(pool.retire(0 if pool.limits is _STREAMS else _RETIRE))

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs work in the background; it is awaited when the gateway stops."""
        task = asyncio.ensure_future(work)
        self.retiring.add(task)
        task.add_done_callback(self.retiring.discard)

    def _stdio_link(self, name: str, upstream: UpstreamSettings, command: tuple[str, ...]) -> StdioLink:
        # The gateway's environment holds the credentials of every upstream, so each process gets only its own.
        environment = inherited_environment(self._environment) | upstream.env
        plan = _sandbox_plan(name, upstream, command, environment)
        if plan is not None and plan.mode == "enforce":
            environment = load_feature("sandbox").box_environment(self._environment, upstream.env, upstream.sandbox.env)

        def server(key: str = "", start: StartProcess | None = None) -> StdioUpstream:
            env = {**environment, upstream.key_env: key} if upstream.key_env is not None and key else environment
            return StdioUpstream(
                LaunchSpec(name, command, env, upstream.cwd, key, start, self._umask),
                {"name": "assent", "version": version("assent")},
                mark=f"assent-{random.token_hex(4)}",
                clock=time.monotonic,
                patience=float(upstream.timeout),
            )

        def link(key: str = "") -> StdioLink:
            if plan is None:
                return StdioLink(server(key))
            box = load_feature("sandbox")
            made: SandboxedLink = box.sandboxed_link(plan, lambda start: server(key, start), self._store)
            self._sandboxed[name] = made
            return made

        if upstream.auth is None:
            return link()
        from assent.upstreams.stdio.person_processes import PersonProcesses, PerUserStdioLink

        processes = self._processes[name] = PersonProcesses(
            name,
            self._vault,
            link,
            most=upstream.processes,
            idle=float(upstream.idle),
            patience=float(upstream.timeout),
        )
        return PerUserStdioLink(link().upstream, processes)

    def _api_link(self, name: str, upstream: UpstreamSettings, source: str) -> UpstreamLink:
        assert upstream.base_url is not None
        live = self._api_pool(name, upstream.base_url, upstream.headers, upstream.timeout)
        test = None
        if upstream.test is not None:
            test = self._api_pool(f"{name} (test)", upstream.test.url, upstream.test.headers, upstream.timeout)
        link: UpstreamLink = load_feature("openapi").open_api_link(name, source, live, test, fetch_text)
        return link

    def _api_pool(self, name: str, base: str, headers: Mapping[str, str], timeout: int) -> tuple[str, Pool]:
        target, circuit_breaker = _target(name, base, headers), CircuitBreaker(name, time.monotonic)
        pool = Pool(name, target, Limits(silence=float(timeout)), circuit_breaker)
        self.pools.append(pool)
        return base, pool

    def _server(
        self, name: str, upstream: UpstreamSettings, url: str, headers: Mapping[str, str], provider: str
    ) -> HttpUpstream:
        target, circuit_breaker = _target(name, url, headers), CircuitBreaker(name, time.monotonic)
        calls = Pool(name, target, Limits(silence=float(upstream.timeout)), circuit_breaker)
        streams = Pool(name, target, _STREAMS, circuit_breaker)
        self.pools += [calls, streams]
        client_info = {"name": "assent", "version": version("assent")}
        kind = HttpUpstream
        if upstream.transport == "sse":
            from assent.upstreams.http.sse_server import SseUpstream

            kind = SseUpstream
        return kind(calls, client_info, streams, credentials=self._credentials(name, upstream, url, provider))

    def _credentials(self, name: str, upstream: UpstreamSettings, url: str, provider: str) -> Credentials | None:
        if upstream.auth is None:
            return None
        made: Credentials
        oauth = load_feature("oauth")
        if upstream.auth == "key":
            made = oauth.KeyCredentials(name, self._vault, upstream.key_header, upstream.key_prefix)
            return made
        tokens = self._tokens[name] = oauth.TokenSource(name, self._vault, time.time)
        made = oauth.OAuthCredentials(tokens)
        if upstream.oauth.exchange is not None:
            terms = _exchange_terms(upstream.oauth, url, provider)
            made = oauth.ExchangingCredentials(oauth.ExchangedTokens(name, terms, time.time), made)
        return made

    def sandbox_status(self, name: str) -> tuple[str, tuple[str, ...]]:
        """How an upstream is confined, and what was stopped."""
        link = self._sandboxed.get(name)
        return ("off", ()) if link is None else (link.summary, link.stopped)

    def forget_credential(self, upstream: str, owner: CredentialOwner) -> None:
        """Read a credential anew at the next call, because it was changed or removed; end a process that has it."""
        if (tokens := self._tokens.get(upstream)) is not None:
            tokens.forget(owner)
        if (processes := self._processes.get(upstream)) is not None:
            processes.end(owner)


def provider_of(settings: Settings) -> str:
    """The issuer of the callers' tokens, if there is one."""
    return settings.auth.jwt.issuer if settings.auth.jwt is not None else ""


def _sandbox_plan(
    name: str, upstream: UpstreamSettings, command: tuple[str, ...], env: Mapping[str, str]
) -> BoxPlan | None:
    """How the server is confined; None if it is not. Raises SettingsError if it cannot be."""
    chosen = upstream.sandbox
    if chosen.mode == "off":
        return None
    box = load_feature("sandbox")
    try:
        plan: BoxPlan = box.make_plan(
            name,
            chosen.mode,
            command,
            env,
            upstream.cwd,
            read=chosen.read,
            write=chosen.write,
            hosts=chosen.hosts,
            instances=chosen.instances,
        )
    except box.CannotConfine as missing:
        raise SettingsError(Fault(str(missing), missing.remedy, f"upstreams.{name}.sandbox")) from None
    return plan


def _exchange_terms(own: UpstreamClient, url: str, provider: str) -> ExchangeTerms:
    oauth = load_feature("oauth")
    assert own.exchange is not None and own.client_id is not None
    at_provider = own.identity_provider
    asking = (at_provider.client_id, at_provider.client_secret) if at_provider else (own.client_id, own.client_secret)
    terms: ExchangeTerms = oauth.ExchangeTerms(
        url,
        own.exchange,
        own.issuer or provider,
        own.client_id,
        own.client_secret,
        own.scopes,
        provider,
        oauth.OAuthClient(*asking, "client_secret_basic" if asking[1] is not None else "none"),
        own.subject_token,
    )
    return terms


def _target(name: str, url: str, headers: Mapping[str, str]) -> UpstreamAddress:
    try:
        return UpstreamAddress.of(url, headers)
    except BadAddress as error:
        raise SettingsError(Fault(str(error), "Correct the address", f"upstreams.{name}")) from None
