"""The settings of `assent.yaml`, as pydantic models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, WithJsonSchema, field_validator, model_validator

from assent.config.callers import AuthSettings, trusted_issuer
from assent.config.notify import NotifySettings
from assent.config.preset import UNSAFE_HOSTS, root_guard, with_preset
from assent.config.sandbox import OFF, GrantedPath, Sandbox
from assent.config.section import HttpUrl, Section
from assent.contract.digest import digest_of
from assent.contract.fields import Duration, StepUp, Words
from assent.contract.profiles import Completeness, HistoricNames, profile_names
from assent.core.default_step_up import DefaultStepUp
from assent.core.principal import Role
from assent.core.quotas import RateLimit, SpendBudget
from assent.rules.guards import build_guard
from assent.rules.guards.rule import GuardRule

LOCK = "assent.lock"


def _known_profile(name: str) -> str:
    if name not in profile_names():
        raise ValueError(f"{name!r} is not a profile; use one of {', '.join(profile_names())}")
    return name


ProfileName = Annotated[
    str, AfterValidator(_known_profile), WithJsonSchema({"type": "string", "enum": profile_names()})
]


def _known_origin(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or f"{parts.scheme}://{parts.netloc}" != text or not parts.hostname:
        raise ValueError(f"{text!r} is not a web origin; write scheme and host, as in https://app.example.com")
    return text


Origin = Annotated[str, AfterValidator(_known_origin)]


class TestEndpoint(Section):
    """The address that calls of `test` principals go to."""

    __test__ = False
    url: HttpUrl
    """The address of the test endpoint."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Headers that are sent to it."""


class ProviderClient(Section):
    """Assent's own client at the identity provider of the callers."""

    client_id: Annotated[str, Field(min_length=1)]
    """The id of the client."""
    client_secret: Annotated[str, Field(min_length=1)] | None = None
    """The secret of the client, if it has one."""


class UpstreamClient(Section):
    """Assent's own client at an upstream's authorization server, where one was registered by hand."""

    client_id: Annotated[str, Field(min_length=1)] | None = None
    """The id of the client; without it, one is registered."""
    client_secret: Annotated[str, Field(min_length=1)] | None = None
    """The secret of the client, if it has one."""
    scopes: tuple[str, ...] = ()
    """The scopes to ask for. Default: those that the upstream names."""
    exchange: Literal["token", "id_jag"] | None = None
    """Whether callers' own tokens are exchanged: at the upstream's authorization server (`token`, RFC 8693), or at the
    identity provider for an identity assertion that the upstream's authorization server accepts (`id_jag`)."""
    subject_token: Literal["access_token", "id_token"] = "access_token"
    """What callers' tokens are, where they are exchanged."""
    issuer: str | None = None
    """The upstream's authorization server, which gets the token or the assertion. Default with `token`: the issuer of
    `auth.jwt`."""
    identity_provider: ProviderClient | None = None
    """Assent's client at the issuer of `auth.jwt`, for `exchange: id_jag`."""

    @model_validator(mode="after")
    def _exchange_is_complete(self) -> UpstreamClient:
        if self.exchange is not None and self.client_id is None:
            raise ValueError("exchange needs client_id: a client that the authorization server lets exchange tokens")
        if self.exchange == "id_jag" and (self.issuer is None or self.identity_provider is None):
            raise ValueError("exchange: id_jag needs issuer and identity_provider")
        return self


class UpstreamSettings(Section):
    """One server behind the gateway: a command, a URL, or an OpenAPI document."""

    command: tuple[str, ...] | None = None
    """The command that starts the server, with its arguments."""
    env: dict[str, str] = Field(default_factory=dict)
    """Environment variables of the command; it gets few others."""
    cwd: str | None = None
    """The folder in which the command runs."""
    url: HttpUrl | None = None
    """The address of an MCP server."""
    transport: Literal["http", "sse"] = "http"
    """The transport behind `url`: streamable HTTP, or the older HTTP with SSE (revision 2024-11-05)."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Headers that are sent to the upstream."""
    openapi: str | None = None
    """The OpenAPI document of an HTTP service, as a path or an address."""
    base_url: HttpUrl | None = None
    """The address that calls of an OpenAPI upstream go to."""
    profile: ProfileName | None = None
    """How hints of this upstream's tools are derived; without it, as `profile` says."""
    prefix: str | None = None
    """What is put before its tool names; without it, `NAME_` if there are several upstreams."""
    timeout: Duration = 30
    """How long a call may take."""
    trust: Literal["inference", "annotations"] = "inference"
    """Whether tools without a contract are judged by inference alone, or by their annotations too."""
    auth: Literal["oauth", "key"] | None = None
    """How callers are known at the upstream: by OAuth tokens, or by API keys that persons enter."""
    identity: Literal["shared", "per_user"] = "shared"
    """Whether all callers share one connection, or each person has their own."""
    oauth: UpstreamClient = UpstreamClient()
    """Assent's own client at the upstream's authorization server, where one was registered by hand."""
    key_header: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,64}$")] = "Authorization"
    """The header in which a person's key is sent."""
    key_prefix: Annotated[str, Field(pattern=r"^[ -~]{0,32}$")] = "Bearer "
    """What is written before the key in that header."""
    key_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")] | None = None
    """With `command`: the environment variable in which a person's process gets their key."""
    processes: Annotated[int, Field(ge=1, le=1000)] = 20
    """With `command` and `identity: per_user`: how many processes of people run at once."""
    idle: Annotated[Duration, Field(gt=0)] = 600
    """With `command` and `identity: per_user`: how long an unused process runs."""
    test: TestEndpoint | None = None
    """Where calls of test callers go; without it they are refused."""
    historic_names: HistoricNames | None = None
    """Whether hints are listed under their historic names, or under `both`; without it, as `historic_names` says."""
    roots: tuple[GrantedPath, ...] = ()
    """With `command`: the folders that its tools work in. A path in an argument that leads elsewhere is refused, unless
    `defaults.paths_outside_roots` is allow."""
    sandbox: Sandbox = OFF
    """With `command`: whether the server is confined to what it is granted: off, observe, enforce, or details."""

    @model_validator(mode="after")
    def _one_kind(self) -> UpstreamSettings:
        kinds = [name for name in ("command", "url", "openapi") if getattr(self, name) is not None]
        if len(kinds) != 1:
            raise ValueError("an upstream needs exactly one of command, url and openapi")
        if self.command is not None and not self.command:
            raise ValueError("the command is empty")
        if self.openapi is not None and self.base_url is None:
            raise ValueError("openapi needs base_url: the OpenAPI document never decides where calls go")
        if self.sandbox.mode != "off" and self.command is None:
            raise ValueError("sandbox needs command: only a process on this machine can be confined")
        if self.roots and self.command is None:
            raise ValueError("roots needs command: only paths on this machine can be followed")
        if self.sandbox.instances == "by_tier" and self.identity == "per_user":
            raise ValueError("instances: by_tier cannot be used with identity: per_user; each person has one box")
        if self.transport == "sse" and self.url is None:
            raise ValueError("transport: sse needs url")
        if self.oauth.exchange is not None and (self.auth, self.identity) != ("oauth", "per_user"):
            raise ValueError("oauth.exchange needs auth: oauth and identity: per_user")
        personal = (self.auth, self.identity) == ("key", "per_user") and self.key_env is not None
        if self.command is not None and self.auth is not None and not personal:
            raise ValueError(
                "auth with a command needs auth: key, identity: per_user and key_env; a shared key is `env`"
            )
        if self.key_env is not None and self.command is None:
            raise ValueError("key_env needs command; with url, use key_header")
        if self.auth is not None and self.openapi is not None:
            raise ValueError(f"auth: {self.auth} needs url or command")
        if self.auth is None and self.identity == "per_user":
            raise ValueError("identity: per_user needs auth: oauth or auth: key")
        if self.test is not None and self.auth is not None and self.oauth.exchange is None:
            raise ValueError(
                f"test cannot be used with auth: {self.auth}: connections are live accounts; "
                "make the test server an upstream of its own"
            )
        if self.auth is not None and self.key_header.lower() in {name.lower() for name in self.headers}:
            raise ValueError(f"headers sets {self.key_header}, which auth: {self.auth} sends; remove one of them")
        return self


class TelemetrySettings(Section):
    """Where traces and durations are sent."""

    otlp: HttpUrl | None = None
    """The address of an OpenTelemetry collector (OTLP over HTTP), such as `http://127.0.0.1:4318`. It needs the extra
    `telemetry`. Without it, the environment's own OpenTelemetry SDK is used, if there is one."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Headers that are sent to it."""
    every: Annotated[Duration, Field(ge=1, le=3600)] = 30
    """How often durations are sent."""


class ApprovalSettings(Section):
    """Limits on how many approvals one caller may request."""

    most_pending: Annotated[int, Field(ge=1, le=10_000)] = 20
    """How many approvals of one caller may wait at once."""
    cooldown: Duration = 60
    """How long after a decline the same caller must wait before it asks about the same tool again."""


class DefaultIdempotency(Section):
    """Idempotency settings of contracts that set none."""

    retention: Duration = 30 * 86400
    """How long results are kept for retries."""


class DefaultStepUpSettings(Section):
    """The step-up of critical calls whose contract has no `step_up`."""

    callers: Literal["oauth", "all", "none"] = "oauth"
    """Which callers must authenticate again: those with an OAuth token, all, or none."""
    approvers: Literal["console", "all", "none"] = "console"
    """Which approvers must authenticate again: those with a login, in the console or with a token; all; or none."""
    max_age: Annotated[Duration, Field(gt=0)] = 300
    """The maximum age of the login."""
    acr: Words = ()
    """The accepted authentication classes; one is enough."""


class DefaultConfirmation(Section):
    """Who confirms where a contract does not say it."""

    critical: Literal["approver", "user"] = "approver"
    """Who confirms the critical calls of agents over HTTP. In `assent wrap` and in the library it is the user."""
    test: Literal["user", "none"] = "user"
    """Who confirms calls of test callers that need a confirmation: the user, or no person."""


class Defaults(Section):
    """Defaults for all contracts."""

    confirmation: DefaultConfirmation = DefaultConfirmation()
    """Who confirms."""

    idempotency: DefaultIdempotency = DefaultIdempotency()
    """Retries."""
    step_up: DefaultStepUpSettings = DefaultStepUpSettings()
    """The login that critical calls need."""
    metadata_addresses: Literal["refuse", "allow"] = "refuse"
    """Whether tools without a written contract may be sent to a cloud's metadata service or a link-local address."""
    paths_outside_roots: Literal["refuse", "allow"] = "refuse"
    """Whether paths in arguments may lead out of the `roots` of an upstream that has some."""


class AuditSettings(Section):
    """Where checkpoints are anchored, and how often a new one is signed."""

    anchors: tuple[dict[str, Any], ...] = ()
    """Where checkpoints are copied to: `{directory: PATH}`, `{git: PATH, remote: NAME}` or `{webhook: URL}`."""
    sign_every: Duration = 60
    """How often new entries are signed."""
    heartbeat: Duration = 3600
    """How often a checkpoint is signed although nothing happened."""


class SecretsSettings(Section):
    """The directory of the gateway's own keys."""

    directory: str = ".assent"
    """The folder of the signing and sealing keys; made on first start."""


class OidcSettings(Section):
    """The identity provider through which people sign in to the console."""

    issuer: Annotated[str, AfterValidator(trusted_issuer)]
    """The identity provider, exactly as it states itself."""
    client_id: Annotated[str, Field(min_length=1)]
    """The id under which the console is registered there."""
    client_secret: Annotated[str, Field(min_length=1)] | None = None
    """The secret of that registration, if it has one."""
    groups: Annotated[dict[str, Role], Field(min_length=1)]
    """Which group of the identity provider has which role. Somebody in none of them does not get in."""
    groups_claim: str = "groups"
    """The claim that lists a person's groups; dots lead into others, as in `realm_access.roles`."""
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    """The scopes that are requested; `openid` is always among them."""
    tenant: str = "local"
    """The tenant of people who sign in."""
    tenant_claim: str | None = None
    """The claim that names a person's tenant. Somebody without it does not get in."""
    algorithms: tuple[Literal["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"], ...] = ("RS256", "ES256")
    """The signature algorithms that are accepted."""

    @field_validator("scopes")
    @classmethod
    def _with_openid(cls, scopes: tuple[str, ...]) -> tuple[str, ...]:
        return scopes if "openid" in scopes else ("openid", *scopes)


class ApproverStepUp(Section):
    """Which approvals need an approver who has just authenticated, whatever the contract says."""

    risks: Annotated[tuple[Literal["low", "medium", "high", "critical"], ...], Field(min_length=1)] = ("critical",)
    """The risks of the calls whose approval needs it."""
    max_age: Annotated[Duration, Field(gt=0)] = 300
    """The maximum age of the approver's login."""
    acr: Words = ()
    """The accepted authentication classes; one is enough."""


class ConsoleSettings(Section):
    """How people sign in to the console, and when they must authenticate again."""

    oidc: OidcSettings | None = None
    """Sign-in through an identity provider."""
    accounts: bool = True
    """Whether people can sign in with an account of the gateway's own."""
    step_up: ApproverStepUp | None = None
    """Which approvals need a recent login, besides the default for critical calls."""


class FlowSettings(Section):
    """Flow control: what happens to values that come from untrusted content and not from the user."""

    mode: Literal["off", "observe", "ask", "refuse"] = "observe"
    """Switched off, only recorded, asked about, or refused."""
    by: Literal["provenance", "labels"] = "provenance"
    """By where each value comes from; or by labels alone: after private data and untrusted content, every way out."""
    window: Annotated[Duration, Field(ge=60, le=86400)] = 3600
    """How long after its last call a caller without a named conversation starts a new one."""
    emit_labels: bool = False
    """Whether results say in `_meta.ifc` whether they are untrusted and private."""


class HookSettings(Section):
    """Hooks of coding agents: `assent hook CLIENT`."""

    allow: bool = False
    """Whether a call to which nothing objects runs without the client's own question. Default: the client asks as it
    would without Assent."""
    gateway: HttpUrl | None = None
    """The team gateway that gets the user's words of each prompt, for flow control there."""
    key: Annotated[str, Field(min_length=8)] | None = None
    """The caller's key at that gateway."""

    @model_validator(mode="after")
    def _both(self) -> HookSettings:
        if (self.gateway is None) != (self.key is None):
            raise ValueError("gateway and key belong together")
        return self


class Settings(Section):
    """The whole configuration."""

    store: str = "sqlite:///assent.db"
    """Where everything is kept: `sqlite:///FILE`, `postgresql://…` or `memory://`."""
    public_url: HttpUrl = "http://127.0.0.1:8420"
    """The address under which people and clients reach the gateway."""
    profile: ProfileName = "spec"
    """How hints are derived from contracts."""
    historic_names: HistoricNames = False
    """Whether hints are listed under the historic names of the profile (true), or under these and the standard ones
    (both).
    """
    completeness: Completeness | None = None
    """Whether a written contract that leaves fields open is refused (required) or logged (noted); by default it is
    refused under the profile `mcp-first`.
    """
    publish_contracts: bool = True
    """Whether tools list their contract in `_meta` as `dev.assent/contract`."""
    mode: Literal["enforce", "observe"] = "enforce"
    """`observe` records what would be asked or refused, and lets calls run."""
    visibility: Literal["scoped", "locked"] | None = None
    """Whether tools beyond a caller's scopes are hidden or listed (`locked`); without it, as the profile says."""
    origins: tuple[Origin, ...] = ()
    """Web pages that may call the gateway, as `https://app.example.com`."""
    names: Literal["canonical", "safe"] = "canonical"
    """`safe` turns dots in tool names into underscores."""
    upstreams: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")], UpstreamSettings] = Field(
        default_factory=dict
    )
    """The servers behind the gateway, by name."""
    contracts: tuple[str, ...] = ()
    """The contract files, as paths or patterns."""
    without_contract: Literal["infer", "error", "withhold"] = "infer"
    """What happens to tools without a contract: inferred, an error, or withheld."""
    defaults: Defaults = Defaults()
    """Defaults for all contracts."""
    preset: Literal["recommended"] | None = None
    """`recommended` adds guards against secrets, private hosts and SQL that writes in reads, flow control that asks,
    and the sandbox in observe. What you set yourself wins."""
    auth: AuthSettings = AuthSettings()
    """How callers authenticate."""
    telemetry: TelemetrySettings = TelemetrySettings()
    """Where traces and durations are sent."""
    limits: tuple[RateLimit, ...] = ()
    """Rate limits."""
    budgets: tuple[SpendBudget, ...] = ()
    """Budgets of money or calls."""
    approvals: ApprovalSettings = ApprovalSettings()
    """Limits on questions to people."""
    guards: tuple[dict[str, Any], ...] = ()
    """Rules on arguments and results; see the reference of guards."""
    flow: FlowSettings = FlowSettings()
    """Flow control."""
    hooks: HookSettings = HookSettings()
    """Hooks of coding agents."""
    policies: tuple[str, ...] = ()
    """Policy files (Cedar), as paths or patterns."""
    pins: str | None = None
    """The lock file of accepted definitions; without it, `assent.lock` beside the configuration. Without a lock file,
    definitions are pinned in the store when they are first seen; `off` pins nothing."""
    notify: tuple[NotifySettings, ...] = ()
    """Who is told that an approval waits."""
    audit: AuditSettings = AuditSettings()
    """Anchors and signing of the audit log."""
    secrets: SecretsSettings = SecretsSettings()
    """The gateway's own keys."""
    engine: Literal["on", "off"] = "on"
    """Whether `wrap`, hooks and the console of one user share a process; `off` is one process per server."""
    console: ConsoleSettings = ConsoleSettings()
    """Sign-in to the console."""

    @model_validator(mode="before")
    @classmethod
    def _fill_in_preset(cls, given: Any) -> Any:
        return with_preset(given)

    @field_validator("pins", mode="before")
    @classmethod
    def _read_off(cls, pins: Any) -> Any:
        return "off" if pins is False else pins  # How YAML reads a bare `off`.

    @model_validator(mode="after")
    def _exchange_has_tokens(self) -> Settings:
        exchanging = [name for name, one in self.upstreams.items() if one.oauth.exchange is not None]
        if exchanging and self.auth.jwt is None:
            raise ValueError(f"upstream {exchanging[0]} exchanges callers' tokens, so auth.jwt must name their issuer")
        return self

    def approver_step_up(self) -> dict[str, StepUp]:
        """What a yes needs of the approver's authentication, by the risk of the call."""
        asked = self.console.step_up
        if asked is None:
            return {}
        return {risk: StepUp(max_age=asked.max_age, acr=asked.acr) for risk in asked.risks}

    def default_step_up(self) -> DefaultStepUp:
        """What critical calls ask of callers and approvers where nothing else is declared."""
        given = self.defaults.step_up
        return DefaultStepUp(StepUp(max_age=given.max_age, acr=given.acr), given.callers, given.approvers)

    def policy_digest(self) -> str:
        """The digest of the guards, limits and budgets that an approver relies on besides the contract."""
        relied_on = self.model_dump(mode="json", include={"guards", "limits", "budgets"})
        relied_on["guards"] += self._root_guards()
        return digest_of(relied_on)

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
        """The configured guards as objects, and those that protect by default."""
        unsafe = (UNSAFE_HOSTS,) if self.defaults.metadata_addresses == "refuse" else ()
        return tuple(build_guard(guard) for guard in (*self.guards, *self._root_guards(), *unsafe))

    def _root_guards(self) -> list[dict[str, Any]]:
        """One guard for each upstream with roots: paths stay inside them."""
        if self.defaults.paths_outside_roots == "allow":
            return []
        found = {name: [str(Path(root).expanduser()) for root in one.roots] for name, one in self.upstreams.items()}
        return [root_guard(name, roots) for name, roots in found.items() if roots]

    @property
    def lock_file(self) -> Path | None:
        """The lock file of accepted definitions, whether it exists or not."""
        return None if self.pins in (None, "off") else Path(str(self.pins))

    @property
    def pins_at_first_sight(self) -> bool:
        """Whether definitions are pinned when they are first seen, if there is no lock file."""
        return self.pins != "off"
