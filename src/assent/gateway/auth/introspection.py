"""Opaque access tokens, checked at the authorization server's introspection endpoint (RFC 7662)."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

import orjson

from assent.config.callers import JwtSettings
from assent.core.limited_dict import LimitedDict
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.gateway.auth.jwt import CACHED_FOR, MOST_CACHED, MOST_TOKEN, is_current, principal_of, provider_down
from assent.upstreams.errors import UpstreamError
from assent.upstreams.http.address import UpstreamAddress
from assent.upstreams.http.circuit_breaker import CircuitBreaker
from assent.upstreams.http.pool import Limits, Pool

REFUSED_FOR = 5.0
_MOST_ANSWER = 64 * 1024


class Introspection:
    """Asks the endpoint about a token at most once a minute; a token that is not active is asked again after 5 s."""

    def __init__(
        self, url: str, client_id: str, client_secret: str, issuer: JwtSettings, now: Callable[[], float] = time.time
    ) -> None:
        limits = Limits(connections=10, silence=5, total=10)
        breaker = CircuitBreaker("introspection", time.monotonic)
        self._pool = Pool("introspection", UpstreamAddress.of(url), limits, breaker)
        pair = f"{quote(client_id, safe='')}:{quote(client_secret, safe='')}".encode()
        self._fields = [
            (b"authorization", b"Basic " + base64.b64encode(pair)),
            (b"content-type", b"application/x-www-form-urlencoded"),
            (b"accept", b"application/json"),
        ]
        self._url, self._issuer, self._now = url, issuer, now
        self._answers = LimitedDict[bytes, tuple[float, Principal | None]](MOST_CACHED)
        self._asking: dict[bytes, asyncio.Future[Principal | None]] = {}

    async def principal(self, token: str) -> Principal | None:
        """The principal of an active token; None for any other. A Refusal says if the endpoint does not answer."""
        if len(token) > MOST_TOKEN:
            return None
        digest, now = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest(), self._now()
        known = self._answers.get(digest)
        if known is not None and now < known[0]:
            return known[1]
        asking = self._asking.get(digest)
        if asking is None:
            asking = self._asking[digest] = asyncio.ensure_future(self._ask(token, digest))
            asking.add_done_callback(lambda _: self._asking.pop(digest, None))
        return await asyncio.shield(asking)

    async def close(self) -> None:
        await self._pool.close()

    async def _ask(self, token: str, digest: bytes) -> Principal | None:
        now, body = self._now(), urlencode({"token": token, "token_type_hint": "access_token"}).encode()
        try:
            response = await self._pool.send(b"POST", self._fields, body, safe=True)
            answer = await response.read(_MOST_ANSWER)
            claims = orjson.loads(answer) if response.status == 200 else None
            why = f"it answered {response.status}" if claims is None else "its answer is no JSON object"
        except UpstreamError as error:
            claims, why = None, error.detail
        except ValueError:
            claims, why = None, "its answer is no JSON"
        if not isinstance(claims, dict):
            raise provider_down(self._url, "introspection", why)
        principal = self._check_claims(claims, now)
        until = min(now + CACHED_FOR, float(claims.get("exp") or now + CACHED_FOR)) if principal else now + REFUSED_FOR
        self._answers[digest] = until, principal
        return principal

    def _check_claims(self, claims: dict[str, Any], now: float) -> Principal | None:
        """The principal of an active answer that is meant for this gateway."""
        if claims.get("active") is not True or not isinstance(claims.get("sub"), str):
            return None
        audience = claims.get("aud")
        meant = audience if isinstance(audience, list) else [audience]
        if self._issuer.audience not in meant or claims.get("iss", self._issuer.issuer) != self._issuer.issuer:
            return None
        if "exp" in claims and not is_current(claims, now):
            return None
        try:
            return principal_of(claims, self._issuer)
        except Refusal:
            return None
