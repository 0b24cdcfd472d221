"""Verifies JWT access tokens and turns their claims into principals."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import orjson

from assent.config.callers import JwtSettings
from assent.core.identity_claims import claim_at, further_claims, group_names, mode_of, words_of
from assent.core.limited_dict import LimitedDict
from assent.core.outcome import Refusal
from assent.core.principal import KINDS, Kind, Principal

logger = logging.getLogger(__name__)

Fetch = Callable[[str], Awaitable[Any]]
"""Reads a JSON document from a configured URL."""

MOST_KEYS = 100
MOST_CACHED = 10_000
CACHED_FOR = 60.0
REFRESH_AFTER = 3600.0
REFRESH_AT_MOST_EVERY = 30.0
RETRY_AFTER = 5.0
"""Seconds after which a key set that could not be fetched is asked for again."""
LEEWAY = 30.0
MOST_TOKEN = 16_384
MOST_ACTORS = 10
LAST_SECOND = 1e12
LOGGED_EVERY = 30.0
_logged: dict[str, float] = {}


def provider_down(url: str, what: str, why: str) -> Refusal:
    """The refusal for callers; the log gets the reason, at most twice a minute for each provider."""
    host, now = urlsplit(url).netloc, time.monotonic()
    if now - _logged.get(host, float("-inf")) > LOGGED_EVERY:
        _logged[host] = now
        logger.error("the identity provider %s does not answer: %s: %s. Tokens cannot be checked", host, what, why)
    detail = f"The identity provider {host} does not answer, so the token cannot be checked. Nothing has run."
    return Refusal("authenticate.provider_down", detail)


class BadMetadata(Exception):
    """The metadata of an issuer leads nowhere we may go."""


@dataclass(slots=True)
class KeySet:
    """An issuer's public keys: fetched on demand, limited in number and in how often they are fetched."""

    issuer: JwtSettings
    fetch: Fetch
    keys: dict[str, Any] = field(default_factory=dict)
    fetched_at: float = float("-inf")
    failure: str = ""
    """Why the last fetch failed."""
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def key(self, kid: str, algorithm: str, now: float) -> Any:
        """The key with that id for that algorithm, or None. A Refusal says if the provider cannot be asked for it.

        An unknown id triggers a fetch, at most once per interval; concurrent callers wait for the same fetch.
        """
        if now - self.fetched_at > REFRESH_AFTER or (
            kid not in self.keys and (now - self.fetched_at > REFRESH_AT_MOST_EVERY or self._lock.locked())
        ):
            async with self._lock:
                if now - self.fetched_at > REFRESH_AT_MOST_EVERY:
                    await self._refresh(now)
        found = self.keys.get(kid)
        if found is None and self.failure:
            raise provider_down(self.issuer.jwks_url or self.issuer.issuer, "its keys", self.failure)
        return found[1] if found is not None and found[0] in (None, algorithm) else None

    async def _refresh(self, now: float) -> None:
        self.fetched_at = now
        try:
            url = self.issuer.jwks_url or await self._discover_url()
            document = await self.fetch(url)
        except BadMetadata as error:
            return logger.error("the keys of %s cannot be used: %s", self.issuer.issuer, error)
        except Exception as error:  # Keep the known keys, and try again soon.
            self.failure = str(getattr(error, "detail", "") or error) or type(error).__name__
            self.fetched_at = now - REFRESH_AT_MOST_EVERY + RETRY_AFTER
            return
        self.failure = ""
        listed = document.get("keys") if isinstance(document, Mapping) else None
        if isinstance(listed, list):
            self.keys = dict(_usable_keys(listed[:MOST_KEYS], self.issuer.algorithms))

    async def _discover_url(self) -> str:
        """The URL of the key set from the issuer's metadata, which must name the same issuer."""
        base = self.issuer.issuer.rstrip("/")
        metadata = await self.fetch(f"{base}/.well-known/openid-configuration")
        if not isinstance(metadata, Mapping) or metadata.get("issuer", "").rstrip("/") != base:
            raise BadMetadata("the metadata belongs to another issuer")
        url = metadata.get("jwks_uri")
        if not isinstance(url, str) or not may_fetch(url):
            raise BadMetadata("the metadata has no key set URL that uses https")
        return url


def may_fetch(url: str) -> bool:
    """Whether keys from this URL can be trusted: it uses TLS or is on this machine."""
    try:
        parts = urlsplit(url)
        return parts.scheme == "https" or (
            parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost")
        )
    except ValueError:
        return False


def _usable_keys(listed: list[Any], algorithms: tuple[str, ...]) -> list[tuple[str, tuple[str | None, Any]]]:
    """(kid, (alg, key)) of every parseable public signature key."""
    from jwt.algorithms import get_default_algorithms

    known = get_default_algorithms()
    kinds = {"RSA": "RS256", "EC": "ES256", "OKP": "EdDSA"}
    found: list[tuple[str, tuple[str | None, Any]]] = []
    for one in listed:
        if not isinstance(one, Mapping) or one.get("use", "sig") != "sig" or one.get("kty") not in [*kinds]:
            continue
        algorithm = one.get("alg")
        if algorithm is not None and algorithm not in algorithms:
            continue
        public = {name: value for name, value in one.items() if name not in ("d", "p", "q", "dp", "dq", "qi", "oth")}
        try:
            key = known[kinds[one["kty"]]].from_jwk(public)
        except Exception:
            continue
        found.append((str(one.get("kid", "")), (algorithm, key)))
    return found


def is_jwt(token: str) -> bool:
    """Whether a token is a signed JWT: three parts, the first of which is a header with an algorithm."""
    head, _, rest = token.partition(".")
    if rest.count(".") != 1 or len(token) > MOST_TOKEN:
        return False
    try:
        header = orjson.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except ValueError:
        return False
    return isinstance(header, Mapping) and "alg" in header


class JwtVerifier:
    """Verifies tokens of one issuer. A verified token is cached by its hash for a short time."""

    def __init__(self, issuer: JwtSettings, fetch: Fetch, now: Callable[[], float]) -> None:
        self._issuer, self._now = issuer, now
        self._keys = KeySet(issuer, fetch)
        self._verified = LimitedDict[bytes, tuple[float, Principal]](MOST_CACHED)

    def inherit(self, earlier: JwtVerifier) -> None:
        """Takes over the known keys of an earlier verifier of the same issuer, in case it cannot be reached now."""
        if _source_of_keys(earlier._issuer) == _source_of_keys(self._issuer):
            self._keys.keys = earlier._keys.keys

    async def principal(self, token: str) -> Principal:
        """The principal of a token; raises the refusal `authenticate.invalid` for a token that is not valid."""
        if len(token) > MOST_TOKEN:
            raise Refusal("authenticate.invalid")
        now, digest = self._now(), hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        cached = self._verified.get(digest)
        if cached is not None and now < cached[0]:
            return cached[1]
        claims = await self.verify(token, now)
        principal = principal_of(claims, self._issuer)
        self._verified[digest] = min(now + CACHED_FOR, float(claims["exp"])), principal
        return principal

    async def verify(self, token: str, now: float) -> dict[str, Any]:
        """The claims of a token that the issuer signed for this audience and that holds now; else a Refusal."""
        import jwt  # Not at the start: it loads all of `cryptography`, and most gateways have no token issuer.

        try:
            header = jwt.get_unverified_header(token)
            algorithm = header.get("alg")
            if algorithm not in self._issuer.algorithms:
                raise Refusal("authenticate.invalid")
            key = await self._keys.key(str(header.get("kid", "")), algorithm, now)
            if key is None:
                raise Refusal("authenticate.invalid")
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=self._issuer.audience,
                issuer=self._issuer.issuer,
                leeway=LEEWAY,
                options={"require": ["exp", "iss", "aud", "sub"], "verify_exp": False, "verify_nbf": False},
            )
        except (jwt.PyJWTError, ValueError, TypeError):
            raise Refusal("authenticate.invalid") from None
        if not is_current(claims, now):
            raise Refusal("authenticate.invalid")
        return claims


def _source_of_keys(issuer: JwtSettings) -> tuple[object, ...]:
    return issuer.issuer, issuer.jwks_url, issuer.algorithms


def is_current(claims: dict[str, Any], now: float) -> bool:
    """Whether a token is valid now, by the gateway's clock."""
    expires, begins = _time(claims.get("exp")), _time(claims.get("nbf", 0))
    return expires is not None and begins is not None and begins - LEEWAY <= now < expires + LEEWAY


def _time(value: Any) -> float | None:
    """A timestamp claim in seconds since 1970, or None if it is not a plausible time."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < LAST_SECOND else None


def principal_of(claims: Mapping[str, Any], issuer: JwtSettings) -> Principal:
    """The principal described by verified claims, with the actor chain of the `act` claim (RFC 8693)."""
    kind = claims.get("kind") if claims.get("kind") in KINDS else issuer.kind
    tenant = claims.get("tenant", issuer.tenant)
    if not isinstance(tenant, str):
        raise Refusal("authenticate.invalid")
    groups = group_names(claim_at(claims, issuer.groups_claim))
    rights = [one for name, one in issuer.groups.items() if name in groups]
    return Principal(
        id=f"{issuer.issuer}|{claims['sub']}",
        kind=kind,  # type: ignore[arg-type]
        tenant=tenant,
        scopes=words_of(claims.get("scope", claims.get("scp"))).union(*(one.scopes for one in rights)),
        roles=words_of(claims.get("roles")).union(*(one.roles for one in rights)),
        acr=claims["acr"] if isinstance(claims.get("acr"), str) else None,
        auth_time=_time(claims.get("auth_time")),
        mode=mode_of(claims, issuer.mode_claim, issuer.mode),
        actors=_actors(claims.get("act"), issuer),
        bearer=True,
        groups=groups,
        claims=further_claims(claims),
        method="token",
    )


def _actors(act: Any, issuer: JwtSettings) -> tuple[Principal, ...]:
    """The actors of an `act` claim, who act for the subject: agents unless it says otherwise.

    A chain that cannot be read to its end is refused, because its rest may contain an agent.
    """
    chain: list[Principal] = []
    while act is not None:
        if not isinstance(act, Mapping) or len(chain) >= MOST_ACTORS:
            raise Refusal("authenticate.invalid")
        kind: Kind = act["kind"] if act.get("kind") in KINDS else "agent"
        chain.append(Principal(f"{issuer.issuer}|{act.get('sub', '')}", kind))
        act = act.get("act")
    return tuple(chain)
