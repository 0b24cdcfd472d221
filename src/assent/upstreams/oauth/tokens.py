"""The access tokens of one upstream: kept per owner, renewed before they expire, never shared between owners."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from assent.core.limited_dict import LimitedDict
from assent.upstreams.credentials import CredentialOwner, bearer_line, bearer_token
from assent.upstreams.errors import NotConnected, OAuthProblem, Unreachable
from assent.upstreams.oauth.grants import Token, refresh, revoke
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

    async def _current(self, owner: CredentialOwner, rejected: str | None) -> Token:
        """The kept token, renewed if it is stale or was rejected. Concurrent callers of one owner share the work.

        Shared work may have begun before the token was rejected, so there is a second try.
        """
        key = (owner.tenant, owner.id)
        for _ in range(2):
            running = self._running.get(key)
            if running is None:
                running = self._running[key] = asyncio.ensure_future(self._read_or_renew(owner, rejected))
                running.add_done_callback(lambda _: self._running.pop(key, None))
            token = await asyncio.shield(running)
            if token.access_token != rejected:
                return token
        raise OAuthProblem("the authorization server gives out the token again that was rejected", temporary=True)

    async def _read_or_renew(self, owner: CredentialOwner, rejected: str | None) -> Token:
        kept = await self._read(owner)
        token = Token.from_json(kept.fields)
        if token.is_stale(self._now()) or token.access_token == rejected:
            token = await self._renewed(owner, kept, token)
        self._cache[owner.tenant, owner.id] = token, self._now() + _CACHED_FOR
        return token

    async def _renewed(self, owner: CredentialOwner, kept: Kept, token: Token) -> Token:
        """Renew in one process at a time: a refresh token that is used twice may end the connection."""
        if not await self._vault.lock(self.upstream, owner, _LOCK_SECONDS):
            return await self._awaited(owner, kept)
        from assent.upstreams.oauth.discovery import new_http

        try:
            now_kept = await self._read(owner)
            if now_kept.version != kept.version:
                return Token.from_json(now_kept.fields)
            async with new_http() as http:
                new = await refresh(http, token, self._now())
                if not await self._vault.put(self.upstream, owner, new.as_json(), expected=kept.version):
                    # The person disconnected or connected anew meanwhile, so the renewed token is nobody's.
                    await revoke(http, new)
                    return Token.from_json((await self._read(owner)).fields)
            return new
        except OAuthProblem as problem:
            if problem.temporary:
                raise
            await self._vault.remove(self.upstream, owner, expected=kept.version)
            raise NotConnected(self.upstream) from problem
        finally:
            await self._vault.unlock(self.upstream, owner)

    async def _awaited(self, owner: CredentialOwner, kept: Kept) -> Token:
        """The token that another process renews just now."""
        deadline = self._now() + _LOCK_SECONDS
        while self._now() < deadline:
            await asyncio.sleep(_POLL)
            now_kept = await self._read(owner)
            if now_kept.version != kept.version:
                return Token.from_json(now_kept.fields)
        raise OAuthProblem("the token could not be renewed in time", temporary=True)

    async def _read(self, owner: CredentialOwner) -> Kept:
        kept = await self._vault.get(self.upstream, owner)
        if kept is None:
            raise NotConnected(self.upstream)
        return kept


class OAuthCredentials:
    """Access tokens of an upstream that needs OAuth."""

    def __init__(self, tokens: TokenSource) -> None:
        self._tokens = tokens

    async def header(self, owner: CredentialOwner) -> bytes:
        try:
            return bearer_line(await self._tokens.token(owner))
        except OAuthProblem as problem:
            raise Unreachable(self._tokens.upstream, problem.detail, sent=False) from problem

    async def renew(self, owner: CredentialOwner, rejected: bytes) -> bytes:
        try:
            return bearer_line(await self._tokens.renew(owner, bearer_token(rejected)))
        except OAuthProblem as problem:
            raise Unreachable(self._tokens.upstream, problem.detail, sent=False) from problem

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
