"""The settings of callers: who they are, and how they authenticate."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from assent.config.section import HttpUrl, Section
from assent.contract.fields import Duration
from assent.core.match import Match
from assent.core.principal import Mode, Principal, Role
from assent.core.quotas import RateLimit


class ConfiguredCaller(Section):
    """The identity and rights of a configured caller."""

    kind: Literal["agent", "human", "service"]
    """What the caller is."""
    tenant: str = "local"
    """The tenant that the caller belongs to."""
    scopes: tuple[str, ...] = ()
    """The scopes that it has; `*` is all, `orders:*` a branch."""
    roles: tuple[Role, ...] = ()
    """The roles that it has."""
    groups: tuple[str, ...] = ()
    """The groups that it is in, for policies."""
    mode: Literal["live", "test"] = "live"
    """Whether its calls are live or go to test endpoints."""
    asks: Literal["person", "nobody"] | None = None
    """Whether the caller's client shows questions to a person. `person`: its answer counts, however fast it comes.
    `nobody`: its yes never counts; a person decides elsewhere. Default: its yes counts if a person had time to read."""
    name: str | None = None
    """The id of the caller in records."""


class AnonymousCaller(ConfiguredCaller):
    """Callers without credentials."""

    tools: tuple[str, ...] = ()
    """The only tools that they are offered, by the names on our wire. They are then served on every address; without
    it, on a loopback address only."""
    calls_per_minute: Annotated[int, Field(ge=1, le=1_000_000)] = 60
    """How many calls all callers without credentials may make together in a minute, where `tools` is set."""

    @model_validator(mode="after")
    def _strangers_decide_nothing(self) -> AnonymousCaller:
        if self.tools and (self.roles or self.kind == "human"):
            raise ValueError("with `tools`, these callers come from anywhere: remove `roles`, and `kind: human`")
        return self

    @property
    def limits(self) -> tuple[RateLimit, ...]:
        """The limit on calls of strangers: each call is written to the log."""
        if not self.tools:
            return ()
        match = Match(principal=self.name or "anonymous", tenant=self.tenant)
        return (RateLimit(match=match, calls=self.calls_per_minute, per=60),)


class ApiKey(ConfiguredCaller):
    """A caller with an API key."""

    name: str
    """The id of the caller in records."""
    key: Annotated[str, Field(min_length=8)]
    """The key itself; take it from the environment with `${NAME}`."""


def trusted_issuer(url: str) -> str:
    """An issuer over HTTPS, or on this machine."""
    parts = urlsplit(url)
    local = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost")
    if not (parts.scheme == "https" or local) or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"{url!r} is no issuer; write its https:// address as the identity provider states it")
    return url


class GroupRights(Section):
    """What the members of a group of the identity provider may do here."""

    scopes: tuple[str, ...] = ()
    """The scopes of its members."""
    roles: tuple[Role, ...] = ()
    """The roles of its members."""


class IntrospectionSettings(Section):
    """The endpoint that checks opaque tokens (RFC 7662), with the gateway's own client there."""

    url: Annotated[str, AfterValidator(trusted_issuer)]
    """The address of the endpoint."""
    client_id: Annotated[str, Field(min_length=1)]
    """The id of the gateway's client there."""
    client_secret: Annotated[str, Field(min_length=1)]
    """The secret of that client."""


class JwtSettings(Section):
    """The token issuer that the gateway trusts."""

    issuer: str
    """The issuer, exactly as tokens state it."""
    audience: str
    """The audience that tokens must be for."""
    jwks_url: HttpUrl | None = None
    """Where the issuer's keys are; without it, its metadata says so."""
    algorithms: tuple[Literal["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"], ...] = ("RS256", "ES256")
    """The signature algorithms that are accepted."""
    kind: Literal["agent", "human", "service"] = "agent"
    """What a caller with a token is, if the token does not say."""
    tenant: str = "local"
    """The tenant of tokens without a `tenant` claim."""
    scopes: tuple[str, ...] | None = None
    """The scopes that a client should request first; without it, all that contracts name."""
    mode: Mode = "live"
    """The mode of tokens that do not say: live, or test for an issuer of test tokens."""
    mode_claim: str = "mode"
    """The claim that says `live` or `test`. A token with any other value in it is refused."""
    groups: dict[str, GroupRights] = Field(default_factory=dict)
    """What members of a group may do besides the scopes of their token."""
    groups_claim: str = "groups"
    """The claim that lists a caller's groups; dots lead into others, as in `realm_access.roles`."""
    introspection: IntrospectionSettings | None = None
    """For tokens that are not JWTs."""


class EmbeddedServer(Section):
    """The gateway as its own authorization server: people of the console give agents access."""

    scopes: tuple[str, ...] = ("*",)
    """What people may give to agents; a scope `*` allows everything."""
    access_lasts: Annotated[Duration, Field(ge=60, le=86400)] = 3600
    """How long an access token is valid."""
    refresh_lasts: Annotated[Duration, Field(ge=3600)] = 30 * 86400
    """How long a refresh token is valid."""


class AuthSettings(Section):
    """The ways in which callers authenticate."""

    api_keys: tuple[ApiKey, ...] = ()
    """Callers with an API key."""
    jwt: JwtSettings | None = None
    """Callers with a token of this issuer."""
    embedded: EmbeddedServer | None = None
    """The gateway as its own authorization server, instead of `jwt`."""
    anonymous: AnonymousCaller | None = None
    """Callers without credentials; accepted on a loopback address only, unless `tools` names what they are offered."""
    stdio: ConfiguredCaller | None = None
    """The caller of `assent wrap`: the process that started it."""

    @model_validator(mode="after")
    def _one_issuer(self) -> AuthSettings:
        if self.jwt is not None and self.embedded is not None:
            raise ValueError("use either jwt (your identity provider) or embedded (this gateway), not both")
        return self


def principal_of(caller: ConfiguredCaller, name: str | None = None, method: str = "") -> Principal:
    """The principal of a configured caller."""
    return Principal(
        id=caller.name or name or "local",
        kind=caller.kind,
        tenant=caller.tenant,
        scopes=frozenset(caller.scopes),
        roles=frozenset(caller.roles),
        mode=caller.mode,
        groups=frozenset(caller.groups),
        method=method,
        asks=caller.asks,
        only=frozenset(caller.tools) if isinstance(caller, AnonymousCaller) and caller.tools else None,
    )
