"""Authenticates requests to the gateway and tells OAuth clients how to sign in."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from assent.config.callers import principal_of
from assent.config.model import Settings
from assent.core.api_keys import KeyRecord
from assent.core.audit import Entry
from assent.core.limited_dict import LimitedDict
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.core.record_scope import is_operator
from assent.errors import StoreError
from assent.features import load_feature
from assent.gateway.auth.challenges import Challenge, challenge
from assent.gateway.auth.failed_auth import FailedAuthCounter
from assent.gateway.auth.host_origin import Cors, HostOriginPolicy
from assent.gateway.auth.introspection import Introspection
from assent.gateway.auth.jwt import JwtVerifier, is_jwt
from assent.ports import Store
from assent.upstreams.credentials import SubjectToken, current_subject
from assent.upstreams.http.circuit_breaker import current_caller
from assent.upstreams.http.fetch import fetch_json
from assent.web.asgi import Headers, Scope
from assent.web.http import is_loopback

PREFIX = "assent_"
_VISIBLE = len(PREFIX) + 8


def make_key() -> str:
    """Creates a key with 256 secret bits. It is shown once."""
    return f"{PREFIX}{secrets.token_hex(4)}_{secrets.token_urlsafe(32)}"


def digest_secret(secret: str) -> str:
    """The digest under which a key or token is stored. They are random, so one fast hash is enough."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def record_key(key: str, principal: Principal, created_at: float = 0.0, expires_at: float | None = None) -> KeyRecord:
    """The stored record of a key. It shows the start of a generated key, and nothing of a chosen one."""
    start = key[:_VISIBLE] if key.startswith(PREFIX) else ""
    return KeyRecord(digest_secret(key), start, principal, created_at, expires_at=expires_at)


class ConfiguredApiKeys:
    """The keys in the configuration, by digest."""

    def __init__(self, records: Iterable[KeyRecord] = ()) -> None:
        self._principals = {record.digest: record.principal for record in records if not record.revoked}

    def find(self, key: str) -> Principal | None:
        """The principal of a key that is known and not revoked."""
        return self._principals.get(digest_secret(key))


FRESH = 0.5
"""Seconds for which a key is cached: a revocation by another process takes effect within this time."""
MOST_CACHED = 10_000
MOST_KEY = 256


class StoredApiKeys:
    """Looks up keys in the store. Only valid keys are cached, so unknown keys cannot evict them."""

    def __init__(self, store: Store, now: Callable[[], float], wall: Callable[[], float] = time.time) -> None:
        self._store, self._now, self._wall = store, now, wall
        self._recognized = LimitedDict[str, tuple[float, Principal]](MOST_CACHED)
        self._revocations = 0

    async def find(self, key: str) -> Principal | None:
        """The principal of a key that is kept and still good; anything that cannot be one costs no look."""
        if not key.startswith(PREFIX) or len(key) > MOST_KEY:
            return None
        digest, now = digest_secret(key), self._now()
        known = self._recognized.get(digest)
        if known is not None and now < known[0]:
            return known[1]
        revocations = self._revocations
        record = await self._store.key_by_digest(digest)
        if record is None or not record.is_good(self._wall()):
            self._recognized.pop(digest, None)
            return None
        if revocations == self._revocations:  # Otherwise it may have been revoked after it was read.
            self._recognized[digest] = now + FRESH, record.caller
        return record.caller

    async def revoke(self, digest: str, at: float, entry: Entry) -> KeyRecord | None:
        """Revokes a key; this process stops accepting it at once."""
        try:
            return await self._store.revoke_key(digest, at, entry)
        finally:
            self._revocations += 1
            self._recognized.pop(digest, None)


FindKey = Callable[[str], Awaitable[Principal | None]]


class AuthParts:
    """What authentication keeps beside its configuration: the stored keys and the count of failures."""

    def __init__(self, store: Store, scopes: Callable[[], list[str]]) -> None:
        """`scopes` are those of the tools that every caller may see."""
        self.store, self.scopes = store, scopes
        self.keys = StoredApiKeys(store, time.monotonic)
        self.failed_auth = FailedAuthCounter(store.append, time.time)


class Authenticator:
    """Authenticates callers by one configuration and counts failures."""

    def __init__(self, settings: Settings, parts: AuthParts, previous: Authenticator | None = None) -> None:
        """`previous` is the authenticator before a change of the configuration: its caches stay."""
        self._settings, self._parts = settings, parts
        self.keys, self.failed_auth, self._scopes = parts.keys, parts.failed_auth, parts.scopes
        auth = settings.auth
        self._keeps_tokens = any(one.oauth.exchange is not None for one in settings.upstreams.values())
        self.embedded = (
            load_feature("authorization_server").embedded_tokens(parts.store, auth.embedded) if auth.embedded else None
        )
        self.configured_keys = ConfiguredApiKeys(
            record_key(key.key, principal_of(key, method="api_key")) for key in auth.api_keys
        )
        anonymous = None if auth.anonymous is None else principal_of(auth.anonymous, "anonymous", "anonymous")
        self._anonymous = anonymous if anonymous is not None and anonymous.only is None else None
        self._stranger = anonymous if anonymous is not None and anonymous.only is not None else None
        self._introspection = self._make_introspection(previous)
        self.tokens = self._make_tokens(previous)
        self._find_opaque: FindKey | None = (
            self.embedded.find if self.embedded else self._introspection.principal if self._introspection else None
        )

    def successor(self, settings: Settings) -> Authenticator:
        """The authenticator of new settings."""
        return Authenticator(settings, self._parts, self)

    def recognize(self, fields: Mapping[bytes, bytes]) -> Principal | None:
        """The principal of a configured key, without any waiting; None if the request must be authenticated.

        A header that was sent twice is joined in `fields`, which is no known key.
        """
        sent = fields.get(b"authorization")
        if sent is not None and b"x-api-key" not in fields and sent.startswith(b"Bearer "):
            credential: str | None = sent[7:].strip().decode("latin-1")
        else:
            try:
                credential = credential_of([(name, fields[name]) for name in _CREDENTIALS if name in fields])
            except Refusal:
                return None
        principal = self.configured_keys.find(credential) if credential else None
        if principal is not None:
            current_caller.set(principal)
            if self._keeps_tokens:
                current_subject.set(None)
        return principal

    async def authenticate_at_mcp(self, headers: Headers, scope: Scope) -> Principal:
        """As `authenticate`, for the MCP endpoint: the one place where strangers are offered the named tools."""
        if self._stranger is not None and credential_of(headers) is None:
            current_caller.set(self._stranger)
            current_subject.set(None)
            return self._stranger
        return await self.authenticate(headers, scope)

    async def authenticate(self, headers: Headers, scope: Scope) -> Principal:
        """The principal of a request; a Challenge says why there is none."""
        try:
            principal = await self._find(headers, scope)
        except StoreError:
            unavailable = Refusal("record.unavailable")
            raise Challenge(unavailable.status, unavailable.problem(), []) from None
        except Refusal as refusal:
            if refusal.code == "authenticate.provider_down":
                raise Challenge(refusal.status, refusal.problem(), [(b"retry-after", b"5")]) from None
            self.failed_auth.count_failure(refusal.code, scope)
            required = challenge(refusal, None, self.metadata_url(), self._first_scopes())
            assert required is not None
            raise Challenge(required[0], refusal.problem(), [(b"www-authenticate", required[1].encode())]) from None
        current_caller.set(principal)
        if self._keeps_tokens:
            token = credential_of(headers) if principal.method == "token" else None
            current_subject.set(SubjectToken(principal, token) if token is not None else None)
        return principal

    async def _find(self, headers: Headers, scope: Scope) -> Principal:
        """The principal of a configured key, a stored key or a token, or the anonymous one of this machine.

        Credentials that are sent must be valid: a bad key never falls back to another method.
        """
        credential = credential_of(headers)
        if credential is None:
            if self._anonymous is not None and is_local(scope) and not is_forwarded(headers):
                return self._anonymous
            raise Refusal("authenticate.missing")
        found = self.configured_keys.find(credential) or await self.keys.find(credential)
        if found is None and self.tokens is not None and is_jwt(credential):
            found = await self.tokens.principal(credential)
        elif found is None and self._find_opaque is not None:
            found = await self._find_opaque(credential)
        if found is None:
            raise Refusal("authenticate.invalid")
        return found

    async def is_operator(self, headers: Headers, scope: Scope) -> bool:
        """Whether the caller is an operator, or a program on this machine that sends no credentials."""
        if self.host_policy().refuse_headers(headers) is not None:
            return False
        try:
            local = credential_of(headers) is None and is_local(scope) and not is_forwarded(headers)
            return local or is_operator(await self._find(headers, scope))
        except Refusal:
            return False

    def host_policy(self) -> HostOriginPolicy:
        return HostOriginPolicy([self._settings.public_url], origins=self._settings.origins)

    def cors(self) -> Cors:
        return Cors(self._settings.origins)

    def _first_scopes(self) -> list[str]:
        """The scopes that a client should request first: the configured ones, or all public ones."""
        jwt = self._settings.auth.jwt
        if self._settings.auth.embedded is not None:
            return self._scopes()
        if jwt is None:
            return []
        return list(jwt.scopes) if jwt.scopes is not None else self._scopes()

    def metadata_url(self) -> str | None:
        if self._issuer() is None:
            return None
        return f"{self._settings.public_url.rstrip('/')}/.well-known/oauth-protected-resource"

    def metadata(self) -> dict[str, Any] | None:
        """Protected resource metadata (RFC 9728). An empty scope list is left out: some providers refuse it."""
        issuer, scopes = self._issuer(), self._scopes()
        if issuer is None:
            return None
        document: dict[str, Any] = {
            "resource": f"{self._settings.public_url.rstrip('/')}/mcp",
            "authorization_servers": [issuer],
            "bearer_methods_supported": ["header"],
        }
        return {**document, "scopes_supported": scopes} if scopes else document

    def _issuer(self) -> str | None:
        """The authorization server that clients are sent to."""
        auth = self._settings.auth
        if auth.embedded is not None:
            return self._settings.public_url.rstrip("/")
        return auth.jwt.issuer if auth.jwt is not None else None

    def _make_introspection(self, previous: Authenticator | None) -> Introspection | None:
        """How tokens are checked that are neither keys nor JWTs."""
        jwt = self._settings.auth.jwt
        if jwt is None or jwt.introspection is None:
            return None
        if previous is not None and previous._settings.auth.jwt == jwt:
            return previous._introspection
        own = jwt.introspection
        return Introspection(own.url, own.client_id, own.client_secret, jwt)

    def _make_tokens(self, previous: Authenticator | None) -> JwtVerifier | None:
        jwt = self._settings.auth.jwt
        if jwt is None:
            return None
        tokens = JwtVerifier(jwt, fetch_json, time.time)
        if previous is not None and previous.tokens is not None:
            tokens.inherit(previous.tokens)
        return tokens


_CREDENTIALS = (b"authorization", b"x-api-key")


def credential_of(headers: Headers) -> str | None:
    """The credential of a request. Two different credentials, or an unreadable one, are invalid."""
    found: list[str] = []
    for name, value in headers:
        if name == b"authorization":
            scheme, _, rest = value.partition(b" ")
            found.append(rest.strip().decode("latin-1") if scheme.lower() == b"bearer" else "")
        elif name == b"x-api-key":
            found.append(value.strip().decode("latin-1"))
    if not found:
        return None
    if not found[0] or (len(found) > 1 and any(one != found[0] for one in found)):
        raise Refusal("authenticate.invalid")
    return found[0]


def is_local(scope: Scope) -> bool:
    """Whether the connection comes from this machine; headers are not considered."""
    client = scope.get("client")
    return client is not None and is_loopback(client[0])


_FORWARDED = re.compile(
    rb"(x-)?(original-)?forwarded(-.*)?|via|cdn-loop|x-(original|proxied|proxyuser|rewrite)-.*"
    rb"|.*(client|connecting|real|remote|source|user|peer|cluster)-?(ip|addr|address|host|port)"
    rb"|(cf|cloudfront|fastly|akamai|fly|tailscale|ngrok)-.*|x-(amzn|azure|appengine|envoy|vercel|nf|akamai)-.*"
)
"""The names of fields that proxies, tunnels and content networks add."""


def is_forwarded(headers: Headers) -> bool:
    """Whether a proxy or tunnel on this machine forwards the request of another client."""
    return any(_tells_of_a_proxy(name) for name, _ in headers)


@lru_cache(1024)
def _tells_of_a_proxy(name: bytes) -> bool:
    return _FORWARDED.fullmatch(name) is not None
