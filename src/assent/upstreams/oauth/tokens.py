"""The access tokens of one upstream: kept per owner, renewed before they expire, never shared between owners."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import httpx2
from mcp.client.auth.utils import union_scopes

from assent.core.limited_dict import LimitedDict
from assent.upstreams.credentials import CredentialOwner, Credentials, bearer_line, bearer_token, subject_of
from assent.upstreams.errors import NotConnected, OAuthProblem, Unreachable
from assent.upstreams.oauth.discovery import AuthorizationServer, discover, discover_token_endpoint, new_http
from assent.upstreams.oauth.discovery import OAuthClient as OAuthClient
from assent.upstreams.oauth.grants import (
    Subject,
    Token,
    configured_client,
    exchange,
    identity_assertion,
    redeem_assertion,
    refresh,
    revoke,
)
from assent.upstreams.vault import CredentialVault, Kept

_CACHED_OWNERS = 10_000
_CACHED_FOR = 30.0
_LOCK_SECONDS = 20.0
_POLL = 0.05

Owner = tuple[str, str]


class TokenSource:
    """Access tokens for one upstream. A token is read from the vault at most every half minute, so that a revoked
    connection ends soon on every replica.
    """

    def __init__(self, upstream: str, vault: CredentialVault, now: Callable[[], float]) -> None:
        self.upstream = upstream
        self._vault, self._now = vault, now
        self._cache = LimitedDict[Owner, tuple[Token, float]](_CACHED_OWNERS)
        self._running: dict[Owner, asyncio.Future[Token]] = {}

    async def token(self, owner: CredentialOwner) -> str:
        """A token that has not expired. Raises NotConnected if a person must sign in first."""
        key = (owner.tenant, owner.id)
        cached = self._cache.get(key)
        now = self._now()
        if cached is not None and cached[1] > now and not cached[0].is_stale(now):
            return cached[0].access_token
        return (await self._current(owner, rejected=None)).access_token

    async def renew(self, owner: CredentialOwner, rejected: str) -> str:
        """Another token than the one that the upstream rejected. Raises NotConnected if there is none."""
        self._cache.pop((owner.tenant, owner.id), None)
        return (await self._current(owner, rejected)).access_token

    def forget(self, owner: CredentialOwner) -> None:
        """Read the credential anew at the next call, because it was changed or removed."""
        self._cache.pop((owner.tenant, owner.id), None)
        self._running.pop((owner.tenant, owner.id), None)  # It may have read the one before.

    async def _current(self, owner: CredentialOwner, rejected: str | None) -> Token:
        """The kept token, renewed if it is stale or was rejected. Concurrent callers of one owner share the work.

        Shared work may have begun before the token was rejected, so there is a second try.
        """
        key = (owner.tenant, owner.id)
        for _ in range(2):
            running = self._running.get(key)
            if running is None:
                running = self._running[key] = asyncio.ensure_future(self._read_or_renew(owner, rejected))
                running.add_done_callback(lambda done: self._running.get(key) is done and self._running.pop(key))
            token = await asyncio.shield(running)
            if token.access_token != rejected:
                return token
        raise OAuthProblem("the authorization server gives out the token again that was rejected", temporary=True)

    async def _read_or_renew(self, owner: CredentialOwner, rejected: str | None) -> Token:
        kept = await self._load_credential(owner)
        token = Token.from_json(kept.fields)
        if token.is_stale(self._now()) or token.access_token == rejected:
            token = await self._renew_once(owner, kept, token)
        if self._running.get((owner.tenant, owner.id)) is asyncio.current_task():
            self._cache[owner.tenant, owner.id] = token, self._now() + _CACHED_FOR
        return token

    async def _renew_once(self, owner: CredentialOwner, kept: Kept, token: Token) -> Token:
        """Renew in one process at a time: a refresh token that is used twice may end the connection."""
        if not await self._vault.lock(self.upstream, owner, _LOCK_SECONDS):
            return await self._await_renewal(owner, kept)
        try:
            now_kept = await self._load_credential(owner)
            if now_kept.version != kept.version:
                return Token.from_json(now_kept.fields)
            async with new_http() as http:
                new = await refresh(http, token, self._now())
                if not await self._vault.put(self.upstream, owner, new.as_json(), expected=kept.version):
                    # The person disconnected or connected anew meanwhile, so the renewed token is nobody's.
                    await revoke(http, new)
                    return Token.from_json((await self._load_credential(owner)).fields)
            return new
        except OAuthProblem as problem:
            if problem.temporary:
                raise
            await self._vault.remove(self.upstream, owner, expected=kept.version)
            raise NotConnected(self.upstream) from problem
        finally:
            await self._vault.unlock(self.upstream, owner)

    async def _await_renewal(self, owner: CredentialOwner, kept: Kept) -> Token:
        """The token that another process renews just now."""
        deadline = self._now() + _LOCK_SECONDS
        while self._now() < deadline:
            await asyncio.sleep(_POLL)
            now_kept = await self._load_credential(owner)
            if now_kept.version != kept.version:
                return Token.from_json(now_kept.fields)
        raise OAuthProblem("the token could not be renewed in time", temporary=True)

    async def _load_credential(self, owner: CredentialOwner) -> Kept:
        kept = await self._vault.get(self.upstream, owner)
        if kept is None:
            raise NotConnected(self.upstream)
        return kept


@contextmanager
def _unreachable(upstream: str) -> Iterator[None]:
    """Report what an authorization server did as the upstream being out of reach; nothing was sent to it."""
    try:
        yield
    except OAuthProblem as problem:
        raise Unreachable(upstream, problem.detail, sent=False) from problem


class OAuthCredentials:
    """Access tokens of an upstream that needs OAuth."""

    def __init__(self, tokens: TokenSource) -> None:
        self._tokens = tokens

    async def header(self, owner: CredentialOwner) -> bytes:
        with _unreachable(self._tokens.upstream):
            return bearer_line(await self._tokens.token(owner))

    async def renew(self, owner: CredentialOwner, rejected: bytes) -> bytes:
        with _unreachable(self._tokens.upstream):
            return bearer_line(await self._tokens.renew(owner, bearer_token(rejected)))

    async def widen(self, owner: CredentialOwner, rejected: bytes, scope: str) -> bytes:
        raise NotConnected(self._tokens.upstream, scope)


class KeyCredentials:
    """API keys of persons for an upstream, each in the configured header."""

    def __init__(self, upstream: str, vault: CredentialVault, header: str, prefix: str) -> None:
        self._upstream, self._vault = upstream, vault
        self._header, self._prefix = header.lower().encode(), prefix.encode()

    async def header(self, owner: CredentialOwner) -> bytes:
        kept = await self._vault.get(self._upstream, owner)
        if kept is None:
            raise NotConnected(self._upstream)
        return b"%b: %b%b\r\n" % (self._header, self._prefix, str(kept.fields["key"]).encode())

    async def renew(self, owner: CredentialOwner, rejected: bytes) -> bytes:
        raise NotConnected(self._upstream)

    async def widen(self, owner: CredentialOwner, rejected: bytes, scope: str) -> bytes:
        raise NotConnected(self._upstream, scope)


logger = logging.getLogger(__name__)

_CACHED_TOKENS = 10_000
_KEPT_WITHOUT_EXPIRY = 300.0
_KNOWN_FOR = 3600.0
_REFUSED_FOR = 5.0


@dataclass(frozen=True, slots=True)
class ExchangeTerms:
    """How tokens are exchanged for one upstream, as the configuration says."""

    url: str
    grant: Literal["token", "id_jag"]
    issuer: str
    """The authorization server that may get a caller's token, or an assertion about the caller. The upstream cannot
    choose another."""
    client_id: str
    client_secret: str | None
    scopes: tuple[str, ...]
    provider: str
    """The issuer of the callers' tokens."""
    provider_client: OAuthClient
    subject_kind: Literal["access_token", "id_token"] = "access_token"


class ExchangedTokens:
    """Tokens of callers for one upstream. Each belongs to one token of one caller, and is kept in memory only."""

    def __init__(self, upstream: str, terms: ExchangeTerms, now: Callable[[], float]) -> None:
        self.upstream, self._terms, self._now = upstream, terms, now
        self._tokens = LimitedDict[bytes, Token](_CACHED_TOKENS)
        self._refused = LimitedDict[tuple[bytes, str], float](_CACHED_TOKENS)
        self._running: dict[tuple[bytes, str], asyncio.Future[Token]] = {}
        self._server: tuple[AuthorizationServer, float] | None = None

    async def token(self, owner: CredentialOwner, rejected: str | None = None, scope: str = "") -> str | None:
        """A token for the caller of this request; None if it has no token of its own or the exchange was refused.

        `rejected` is a token that the upstream did not accept, and `scope` what it lacked.
        """
        subject = subject_of(owner)
        if subject is None:
            return None
        key = _key(owner, subject)
        if self._refused.get((key, scope), 0) > self._now():
            return None
        known = self._tokens.get(key)
        if (
            known is not None
            and known.access_token != rejected
            and known.has(scope)
            and not known.is_stale(self._now())
        ):
            return known.access_token
        try:
            return (await self._exchanged(key, subject, scope)).access_token
        except OAuthProblem as problem:
            if problem.temporary:
                raise
            self._refuse(key, scope, problem)
            return None

    async def _exchanged(self, key: bytes, subject: str, scope: str) -> Token:
        """Exchange once for concurrent calls with the same token."""
        running = self._running.get((key, scope))
        if running is None:
            running = self._running[key, scope] = asyncio.ensure_future(self._exchange(key, subject, scope))
            running.add_done_callback(lambda _: self._running.pop((key, scope), None))
        return await asyncio.shield(running)

    async def _exchange(self, key: bytes, subject_token: str, scope: str) -> Token:
        terms = self._terms
        subject = Subject(subject_token, terms.subject_kind)
        async with new_http() as http:
            server = await self._authorization_server(http)
            known = self._tokens.get(key)
            more = union_scopes(known.scope, scope) if known is not None and scope else scope
            wanted = union_scopes(" ".join(terms.scopes) or server.scope, more)
            client = configured_client(server, terms.client_id, terms.client_secret)
            if terms.grant == "token":
                token = await exchange(http, server, client, subject, wanted, self._now())
            else:
                endpoint = await discover_token_endpoint(http, terms.provider)
                assertion = await identity_assertion(http, endpoint, terms.provider_client, subject, server, wanted)
                token = await redeem_assertion(http, server, client, assertion, wanted, self._now())
        self._remember(key, token)
        return token

    async def _authorization_server(self, http: httpx2.AsyncClient) -> AuthorizationServer:
        """The upstream's authorization server, which must be the configured one: it gets the caller's token."""
        if self._server is not None and self._server[1] > self._now():
            return self._server[0]
        server = await discover(http, self._terms.url, issuer=self._terms.issuer)
        self._server = server, self._now() + _KNOWN_FOR
        return server

    def _remember(self, key: bytes, token: Token) -> None:
        if token.expires_at is None:
            token = Token.from_json({**token.as_json(), "expires_at": self._now() + _KEPT_WITHOUT_EXPIRY})
        self._tokens[key] = token

    def _refuse(self, key: bytes, scope: str, problem: OAuthProblem) -> None:
        """Tell the operator why, and ask again only after a while. A refused scope leaves the token without it."""
        if self._refused.get((key, scope), 0) <= self._now():  # Concurrent calls share one exchange and one line.
            logger.warning("%s: a caller's token was not exchanged: %s", self.upstream, problem.detail)
        if not scope:
            self._tokens.pop(key, None)
        self._refused[key, scope] = self._now() + _REFUSED_FOR


class ExchangingCredentials:
    """Credentials of callers by exchange. A caller without a token, or one that is refused, uses the connection that
    the person made, as on an upstream without exchange.
    """

    def __init__(self, exchanged: ExchangedTokens, connected: Credentials) -> None:
        self._exchanged, self._connected = exchanged, connected

    async def header(self, owner: CredentialOwner) -> bytes:
        token = await self._token(owner)
        return bearer_line(token) if token is not None else await self._connected.header(owner)

    async def renew(self, owner: CredentialOwner, rejected: bytes) -> bytes:
        token = await self._token(owner, bearer_token(rejected))
        if token is None:
            return await self._connected.renew(owner, rejected)
        return bearer_line(token)

    async def widen(self, owner: CredentialOwner, rejected: bytes, scope: str) -> bytes:
        token = await self._token(owner, bearer_token(rejected), scope)
        if token is None:
            return await self._connected.widen(owner, rejected, scope)
        return bearer_line(token)

    async def _token(self, owner: CredentialOwner, rejected: str | None = None, scope: str = "") -> str | None:
        with _unreachable(self._exchanged.upstream):
            return await self._exchanged.token(owner, rejected, scope)


def _key(owner: CredentialOwner, subject: str) -> bytes:
    """The place of a token: two tokens of one person may allow different things, so they share nothing."""
    parts = [part.encode("utf-8", "surrogatepass") for part in (owner.tenant, owner.id, subject)]
    return hashlib.sha256(b"".join(len(part).to_bytes(4, "big") + part for part in parts)).digest()
