"""Sign-in through an OpenID Connect provider: discovery, authorization code with PKCE, and the ID token."""

from __future__ import annotations

import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2
from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import AsyncOAuth2Client

from assent.config.callers import JwtSettings
from assent.config.model import OidcSettings
from assent.core.identity_claims import claim_at
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.gateway.auth.jwt import JwtVerifier, may_fetch
from assent.people.console.page import PageError
from assent.upstreams.http.fetch import fetch_json

DISCOVER_EVERY = 3600.0
PATIENCE = 10.0
LEEWAY = 60.0
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class ProviderError(PageError):
    """The provider cannot be asked, or said something that is not believed."""


@dataclass(frozen=True, slots=True)
class SignInRequest:
    """What one sign-in sent to the provider and must find again in the answer."""

    redirect_uri: str
    state: str
    nonce: str
    verifier: str
    max_age: int | None = None
    """Set where the person must authenticate anew; the ID token must then say when they did."""
    acr: tuple[str, ...] = ()


class OidcClient:
    """The console as a client of one provider. The provider's metadata is read when it is first needed."""

    def __init__(self, settings: OidcSettings) -> None:
        self.settings = settings
        self._metadata: dict[str, Any] = {}
        self._read_at = float("-inf")
        self._tokens: JwtVerifier | None = None

    async def authorization_url(self, request: SignInRequest) -> str:
        """Where the person's browser goes to sign in."""
        metadata = await self._discover()
        more: dict[str, Any] = {} if request.max_age is None else {"max_age": request.max_age, "prompt": "login"}
        if request.acr:
            more["acr_values"] = " ".join(request.acr)
        async with self._client(metadata) as client:
            url, _ = client.create_authorization_url(
                metadata["authorization_endpoint"],
                state=request.state,
                nonce=request.nonce,
                code_verifier=request.verifier,
                redirect_uri=request.redirect_uri,
                **more,
            )
        return str(url)

    async def claims(self, code: str, request: SignInRequest) -> dict[str, Any]:
        """What the provider says of the person, for a code that it gave to their browser."""
        metadata = await self._discover()
        async with self._client(metadata) as client:
            try:
                token = await client.fetch_token(
                    metadata["token_endpoint"],
                    grant_type="authorization_code",
                    code=code,
                    code_verifier=request.verifier,
                    redirect_uri=request.redirect_uri,
                )
                claims = await self._verify_token(token, request)
                return claims | await self._user_info(client, metadata, claims)
            except OAuthError as error:
                said = f"It said: {error.error}. Sign in again; if that does not help, ask your administrator."
                raise ProviderError(403, "The identity provider refused this sign-in.", said) from None
            except (httpx2.HTTPError, ValueError):
                raise self._unavailable() from None

    async def _verify_token(self, token: Mapping[str, Any], request: SignInRequest) -> dict[str, Any]:
        assert self._tokens is not None
        try:
            claims = await self._tokens.verify(str(token.get("id_token", "")), time.time())
        except Refusal:
            claims = {}
        wrong = what_is_wrong(claims, request, self.settings.client_id, time.time())
        if wrong:
            raise ProviderError(403, "The identity provider's answer is not believed.", f"{wrong} Sign in again.")
        return claims

    async def _user_info(
        self, client: AsyncOAuth2Client, metadata: Mapping[str, Any], claims: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Groups and tenant, where the provider tells them at its user info endpoint only."""
        named = [one for one in (self.settings.groups_claim, self.settings.tenant_claim) if one]
        url = metadata.get("userinfo_endpoint")
        if all(claim_at(claims, one) is not None for one in named) or not isinstance(url, str) or not may_fetch(url):
            return {}
        answer = await client.get(url)
        said = answer.json() if answer.status_code == 200 else {}
        if not isinstance(said, dict) or said.get("sub") != claims["sub"]:
            return {}
        wanted = {"name", "email", *named, *(one.partition(".")[0] for one in named)}
        return {name: said[name] for name in said.keys() & wanted if name not in claims}

    async def _discover(self) -> dict[str, Any]:
        """The provider's metadata; a copy that was read in the last hour is good enough."""
        if time.monotonic() - self._read_at < DISCOVER_EVERY:
            return self._metadata
        issuer = self.settings.issuer
        try:
            found = await fetch_json(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        except Exception:
            if self._metadata:
                return self._metadata
            raise self._unavailable() from None
        if not isinstance(found, dict) or found.get("issuer") != issuer:
            raise ProviderError(502, "The identity provider's metadata is another issuer's.", f"Expected {issuer}.")
        for name in _ENDPOINTS:
            if not isinstance(found.get(name), str) or not may_fetch(found[name]):
                raise ProviderError(502, "The identity provider's metadata cannot be used.", f"It lacks {name}.")
        self._use(found)
        return found

    def _use(self, metadata: dict[str, Any]) -> None:
        settings = self.settings
        issuer = JwtSettings.model_construct(
            issuer=settings.issuer,
            audience=settings.client_id,
            algorithms=settings.algorithms,
            jwks_url=metadata["jwks_uri"],
        )
        tokens = JwtVerifier(issuer, fetch_json, time.time)
        if self._tokens is not None:
            tokens.inherit(self._tokens)
        self._metadata, self._read_at, self._tokens = metadata, time.monotonic(), tokens

    def _client(self, metadata: Mapping[str, Any]) -> AsyncOAuth2Client:
        settings = self.settings
        supported = str(metadata.get("token_endpoint_auth_methods_supported") or "client_secret_basic")
        method = "client_secret_basic" if "client_secret_basic" in supported else "client_secret_post"
        return AsyncOAuth2Client(
            client_id=settings.client_id,
            client_secret=settings.client_secret,
            token_endpoint_auth_method=method if settings.client_secret else "none",
            scope=" ".join(settings.scopes),
            code_challenge_method="S256",
            timeout=PATIENCE,
            follow_redirects=False,
        )

    def _unavailable(self) -> ProviderError:
        host = urlsplit(self.settings.issuer).netloc
        detail = f"{host} could not be reached. Try again in a moment, or ask your administrator for another way in."
        return ProviderError(503, "The identity provider does not answer.", detail)


def what_is_wrong(claims: Mapping[str, Any], request: SignInRequest, client_id: str, now: float) -> str:
    """Why an ID token does not answer this request, as a sentence; empty if it does.

    Signature, issuer, audience and expiry were checked before; for one that failed there the claims are empty.
    """
    if not claims:
        return "Its token is forged, expired, or made for somebody else."
    nonce = claims.get("nonce")
    if not isinstance(nonce, str) or not hmac.compare_digest(nonce.encode(), request.nonce.encode()):
        return "Its token answers another sign-in."
    several = isinstance(claims.get("aud"), list) and len(claims["aud"]) > 1
    if claims.get("azp", None if several else client_id) != client_id:
        return "Its token was made for another application."
    issued = _number(claims.get("iat"))
    if issued is None or issued > now + LEEWAY:
        return "Its token is from the future; a clock is wrong."
    if request.max_age is None:
        return ""
    at = _number(claims.get("auth_time"))
    if at is None:
        return "It does not say when you authenticated."
    if at > now + LEEWAY or at + request.max_age + LEEWAY < now:
        return "It did not ask you to authenticate anew."
    return ""


def principal_of(claims: Mapping[str, Any], settings: OidcSettings, now: float) -> Principal:
    """The person whom the claims describe; raises for somebody without a role or a tenant here."""
    said = claim_at(claims, settings.groups_claim)
    groups = [said] if isinstance(said, str) else said if isinstance(said, list) else []
    roles = frozenset(settings.groups[one] for one in groups if isinstance(one, str) and one in settings.groups)
    tenant = claim_at(claims, settings.tenant_claim) if settings.tenant_claim else settings.tenant
    if not roles or not isinstance(tenant, str) or not tenant:
        lacking = "role" if not roles else "tenant"
        detail = "Ask your administrator to put you into the right group of the identity provider."
        raise ProviderError(403, f"You have no {lacking} in this console.", detail)
    acr, at = claims.get("acr"), _number(claims.get("auth_time"))
    return Principal(
        f"{settings.issuer}|{claims['sub']}",
        "human",
        tenant,
        roles=roles,
        acr=acr if isinstance(acr, str) else None,
        auth_time=None if at is None else min(at, now),
    )


def display_name(claims: Mapping[str, Any]) -> str:
    found = (claims.get(name) for name in ("name", "preferred_username", "email", "sub"))
    return next((one for one in found if isinstance(one, str) and one), "")[:100]


def _number(value: Any) -> float | None:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if plain and abs(value) < 1e12 else None
