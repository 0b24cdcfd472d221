"""Authenticates requests to the gateway and tells OAuth clients how to sign in."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from assent.config.model import Settings
from assent.config.principals import principal_of
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.core.record_scope import is_operator
from assent.errors import StoreError
from assent.gateway.auth.api_keys import ConfiguredApiKeys, record_key
from assent.gateway.auth.challenges import Challenge, challenge
from assent.gateway.auth.credentials import CredentialChecker, credential_of, is_forwarded, is_loopback
from assent.gateway.auth.failed_auth import FailedAuthCounter
from assent.gateway.auth.host_origin import HostOriginPolicy
from assent.gateway.auth.jwt import Issuer, JwtVerifier
from assent.gateway.auth.stored_api_keys import StoredApiKeys
from assent.gateway.cors import Cors
from assent.gateway.requests import read_head
from assent.ports import Store
from assent.upstreams.http.fetch import fetch_json
from assent.web.asgi import Headers, Scope


class Authenticator:
    """Authenticates callers by the current settings and counts failures."""

    def __init__(self, settings: Settings, store: Store, scopes: Callable[[], list[str]] = list) -> None:
        self._scopes = scopes
        self.keys = StoredApiKeys(store, time.monotonic)
        self.failed_auth = FailedAuthCounter(store.note, time.time)
        self.credential_checker = CredentialChecker()
        self.apply_settings(settings)

    def apply_settings(self, settings: Settings) -> None:
        """Uses these settings from now on."""
        self._settings = settings
        self.credential_checker = CredentialChecker(
            keys=ConfiguredApiKeys(record_key(key.key, principal_of(key)) for key in settings.auth.api_keys),
            find_stored_key=self.keys.find,
            tokens=self._tokens(),
            anonymous=principal_of(settings.auth.anonymous, "anonymous") if settings.auth.anonymous else None,
        )

    async def authenticate(self, headers: Headers, scope: Scope) -> Principal:
        try:
            return await self.credential_checker.authenticate(headers, scope)
        except StoreError:
            unavailable = Refusal("record.unavailable")
            raise Challenge(unavailable.status, unavailable.problem(), []) from None
        except Refusal as refusal:
            self.failed_auth.count_failure(refusal.code, scope)
            required = challenge(refusal, None, self.metadata_url(), self._first_scopes())
            assert required is not None
            raise Challenge(required[0], refusal.problem(), [(b"www-authenticate", required[1].encode())]) from None

    async def is_operator(self, headers: Headers, scope: Scope) -> bool:
        """Whether the caller is an operator, or a program on this machine that sends no credentials."""
        head = read_head(headers)
        if self.host_policy().refuse(head.host, head.origin) is not None:
            return False
        try:
            local = credential_of(headers) is None and is_loopback(scope) and not is_forwarded(headers)
            return local or is_operator(await self.credential_checker.authenticate(headers, scope))
        except Refusal:
            return False

    def host_policy(self) -> HostOriginPolicy:
        return HostOriginPolicy([self._settings.public_url], origins=self._settings.origins)

    def cors(self) -> Cors:
        return Cors(self._settings.origins)

    def _first_scopes(self) -> list[str]:
        """The scopes that a client should request first: the configured ones, or all public ones."""
        jwt = self._settings.auth.jwt
        if jwt is None:
            return []
        return list(jwt.scopes) if jwt.scopes is not None else self._scopes()

    def metadata_url(self) -> str | None:
        if self._settings.auth.jwt is None:
            return None
        return f"{self._settings.public_url.rstrip('/')}/.well-known/oauth-protected-resource"

    def metadata(self) -> dict[str, Any] | None:
        """Protected resource metadata (RFC 9728). An empty scope list is left out: some providers refuse it."""
        jwt, scopes = self._settings.auth.jwt, self._scopes()
        if jwt is None:
            return None
        document: dict[str, Any] = {
            "resource": f"{self._settings.public_url.rstrip('/')}/mcp",
            "authorization_servers": [jwt.issuer],
            "bearer_methods_supported": ["header"],
        }
        return {**document, "scopes_supported": scopes} if scopes else document

    def _tokens(self) -> JwtVerifier | None:
        jwt = self._settings.auth.jwt
        if jwt is None:
            return None
        issuer = Issuer(jwt.issuer, jwt.audience, jwt.algorithms, jwt.jwks_url, jwt.kind, jwt.tenant)
        tokens = JwtVerifier(issuer, fetch_json, time.time)
        if self.credential_checker.tokens is not None:
            tokens.inherit(self.credential_checker.tokens)
        return tokens
