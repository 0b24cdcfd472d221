"""The settings of `assent.yaml`, as pydantic models."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from assent.config.notify import NotifySettings
from assent.contract.digest import digest_of
from assent.contract.durations import Duration
from assent.contract.parts import StepUp, Words
from assent.contract.profiles import profile_names
from assent.core.principal import Role
from assent.core.quotas import RateLimit, SpendBudget
from assent.guards import build_guard
from assent.guards.rule import GuardRule

LOCK = "assent.lock"


class Section(BaseModel):
    """A part of the configuration in which unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _known_profile(name: str) -> str:
    if name not in profile_names():
        raise ValueError(f"{name!r} is not a profile; use one of {', '.join(profile_names())}")
    return name


ProfileName = Annotated[str, AfterValidator(_known_profile)]


def _known_origin(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or f"{parts.scheme}://{parts.netloc}" != text or not parts.hostname:
        raise ValueError(f"{text!r} is not a web origin; write scheme and host, as in https://app.example.com")
    return text


Origin = Annotated[str, AfterValidator(_known_origin)]
HttpUrl = Annotated[str, Field(pattern=r"^https?://[^\s/]+")]


class TestEndpoint(Section):
    """The address that calls of `test` principals go to."""

    __test__ = False
    url: HttpUrl
    headers: dict[str, str] = Field(default_factory=dict)


class UpstreamSettings(Section):
    """One server behind the gateway: a command, a URL, or an OpenAPI document."""

    command: tuple[str, ...] | None = None
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    url: HttpUrl | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    openapi: str | None = None
    base_url: HttpUrl | None = None
    profile: ProfileName | None = None
    prefix: str | None = None
    timeout: Duration = 30
    trust: Literal["inference", "annotations"] = "inference"
    test: TestEndpoint | None = None
    historic_names: bool | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> UpstreamSettings:
        kinds = [name for name in ("command", "url", "openapi") if getattr(self, name) is not None]
        if len(kinds) != 1:
            raise ValueError("an upstream needs exactly one of command, url and openapi")
        if self.command is not None and not self.command:
            raise ValueError("the command is empty")
        if self.openapi is not None and self.base_url is None:
            raise ValueError("openapi needs base_url: the OpenAPI document never decides where calls go")
        return self


class ConfiguredCaller(Section):
    """The identity and rights of a configured caller."""

    kind: Literal["agent", "human", "service"]
    tenant: str = "local"
    scopes: tuple[str, ...] = ()
    roles: tuple[Role, ...] = ()
    mode: Literal["live", "test"] = "live"
    name: str | None = None


class ApiKey(ConfiguredCaller):
    """A caller with an API key."""

    name: str
    key: Annotated[str, Field(min_length=8)]


class JwtSettings(Section):
    """The token issuer that the gateway trusts."""

    issuer: str
    audience: str
    jwks_url: HttpUrl | None = None
    algorithms: tuple[Literal["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"], ...] = ("RS256", "ES256")
    kind: Literal["agent", "human", "service"] = "agent"
    tenant: str = "local"
    scopes: tuple[str, ...] | None = None


class AuthSettings(Section):
    """The ways in which callers authenticate."""

    api_keys: tuple[ApiKey, ...] = ()
    jwt: JwtSettings | None = None
    anonymous: ConfiguredCaller | None = None
    stdio: ConfiguredCaller | None = None


class ApprovalSettings(Section):
    """Limits on how many approvals one caller may request."""

    most_pending: Annotated[int, Field(ge=1, le=10_000)] = 20
    cooldown: Duration = 60


class DefaultIdempotency(Section):
    """Idempotency settings of contracts that set none."""

    retention: Duration = 30 * 86400


class Defaults(Section):
    """Defaults for all contracts."""

    idempotency: DefaultIdempotency = DefaultIdempotency()


class AuditSettings(Section):
    """Where checkpoints are anchored, and how often a new one is signed."""

    anchors: tuple[dict[str, Any], ...] = ()
    sign_every: Duration = 60
    heartbeat: Duration = 3600


class SecretsSettings(Section):
    """The directory of the gateway's own keys."""

    directory: str = ".assent"


def _trusted_issuer(url: str) -> str:
    parts = urlsplit(url)
    local = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost")
    if not (parts.scheme == "https" or local) or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"{url!r} is no issuer; write its https:// address as the identity provider states it")
    return url


class OidcSettings(Section):
    """The identity provider through which people sign in to the console."""

    issuer: Annotated[str, AfterValidator(_trusted_issuer)]
    client_id: Annotated[str, Field(min_length=1)]
    client_secret: Annotated[str, Field(min_length=1)] | None = None
    groups: Annotated[dict[str, Role], Field(min_length=1)]
    """Which group of the identity provider has which role. Somebody in none of them does not get in."""
    groups_claim: str = "groups"
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    tenant: str = "local"
    tenant_claim: str | None = None
    """The claim that names a person's tenant. Somebody without it does not get in."""
    algorithms: tuple[Literal["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"], ...] = ("RS256", "ES256")

    @field_validator("scopes")
    @classmethod
    def _with_openid(cls, scopes: tuple[str, ...]) -> tuple[str, ...]:
        return scopes if "openid" in scopes else ("openid", *scopes)


class ApproverStepUp(Section):
    """Which approvals need an approver who has just authenticated, whatever the contract says."""

    risks: Annotated[tuple[Literal["low", "medium", "high", "critical"], ...], Field(min_length=1)] = ("critical",)
    max_age: Annotated[Duration, Field(gt=0)] = 300
    acr: Words = ()


class ConsoleSettings(Section):
    """How people sign in to the console, and when they must authenticate again."""

    oidc: OidcSettings | None = None
    accounts: bool = True
    """Whether people can sign in with an account of the gateway's own."""
    step_up: ApproverStepUp | None = None


class Settings(Section):
    """The whole configuration."""

    store: str = "sqlite:///assent.db"
    public_url: HttpUrl = "http://127.0.0.1:8420"
    profile: ProfileName = "spec"
    historic_names: bool = False
    mode: Literal["enforce", "observe"] = "enforce"
    visibility: Literal["scoped", "locked"] | None = None
    origins: tuple[Origin, ...] = ()
    names: Literal["canonical", "safe"] = "canonical"
    upstreams: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")], UpstreamSettings] = Field(
        default_factory=dict
    )
    contracts: tuple[str, ...] = ()
    without_contract: Literal["infer", "error", "withhold"] = "infer"
    defaults: Defaults = Defaults()
    auth: AuthSettings = AuthSettings()
    limits: tuple[RateLimit, ...] = ()
    budgets: tuple[SpendBudget, ...] = ()
    approvals: ApprovalSettings = ApprovalSettings()
    guards: tuple[dict[str, Any], ...] = ()
    policies: tuple[str, ...] = ()
    pins: str | None = None
    notify: tuple[NotifySettings, ...] = ()
    audit: AuditSettings = AuditSettings()
    secrets: SecretsSettings = SecretsSettings()
    console: ConsoleSettings = ConsoleSettings()

    @field_validator("policies")
    @classmethod
    def _refuse_policies(cls, policies: tuple[str, ...]) -> tuple[str, ...]:
        """Refuses policies until they are enforced, because ignoring one would be unsafe."""
        if policies:
            raise ValueError("this version does not enforce policies; remove them and use contracts and guards")
        return policies

    def approver_step_up(self) -> dict[str, StepUp]:
        """What a yes needs of the approver's authentication, by the risk of the call."""
        asked = self.console.step_up
        if asked is None:
            return {}
        return {risk: StepUp(max_age=asked.max_age, acr=asked.acr) for risk in asked.risks}

    def policy_digest(self) -> str:
        """The digest of the guards, limits and budgets that an approver relies on besides the contract."""
        return digest_of(self.model_dump(mode="json", include={"guards", "limits", "budgets"}))

    def prefix_of(self, upstream: str) -> str:
        """The prefix of an upstream's tool names on the wire; empty for an upstream that is not configured."""
        named = self.upstreams.get(upstream)
        if named is not None and named.prefix is not None:
            return named.prefix
        return f"{upstream}_" if named is not None and len(self.upstreams) > 1 else ""

    def wire_name(self, upstream: str, tool: str) -> str:
        """The name under which the gateway lists a tool of an upstream."""
        name = self.prefix_of(upstream) + tool
        return name.replace(".", "_") if self.names == "safe" else name

    def rules(self) -> tuple[GuardRule, ...]:
        """The configured guards as objects."""
        return tuple(build_guard(guard) for guard in self.guards)
