"""Credentials for the header of a request: access tokens of OAuth, and API keys of persons."""

from __future__ import annotations

from assent.upstreams.errors import Unreachable
from assent.upstreams.oauth.credentials import bearer_line, bearer_token
from assent.upstreams.oauth.errors import NotConnected, OAuthProblem
from assent.upstreams.oauth.owner import CredentialOwner
from assent.upstreams.oauth.tokens import TokenSource
from assent.upstreams.oauth.vault import CredentialVault


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
