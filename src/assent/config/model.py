"""What does `assent.yaml` say?"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from assent.contract.digest import digest_of
from assent.contract.durations import Duration
from assent.contract.explaining import explain
from assent.contract.profiles import profile_names
from assent.contract.yaml_lines import Document
from assent.core.dues import Budget, Limit
from assent.core.principal import Role
from assent.errors import Fault, FaultsError, SettingsError
from assent.guards import build_guard
from assent.guards.rule import Rule

LOCK = "assent.lock"
_REFERENCE = re.compile(r"\$\$\{|\$\{([^}]*)(\}?)")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MALFORMED = (
    "what follows ${ is no name of a variable",
    "Write ${NAME} in letters, digits and underscores, or $${ where ${ itself is meant",
)


class Section(BaseModel):
    """A part of the configuration in which unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _known_profile(name: str) -> str:
    if name not in profile_names():
        raise ValueError(f"there is no profile {name!r}; use one of {', '.join(profile_names())}")
    return name


ProfileName = Annotated[str, AfterValidator(_known_profile)]


def _known_origin(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or f"{parts.scheme}://{parts.netloc}" != text or not parts.hostname:
        raise ValueError(f"{text!r} is no origin of a web page; write scheme and host, as in https://app.example.com")
    return text


Origin = Annotated[str, AfterValidator(_known_origin)]
HttpUrl = Annotated[str, Field(pattern=r"^https?://[^\s/]+")]


class TestEndpoint(Section):
    """Where `test` principals are routed."""

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
            raise ValueError("an upstream is exactly one of command, url and openapi")
        if self.command is not None and not self.command:
            raise ValueError("the command is empty")
        if self.openapi is not None and self.base_url is None:
            raise ValueError("openapi needs base_url: the document itself never decides where calls go")
        return self


class Caller(Section):
    """Who a caller is, as configured."""

    kind: Literal["agent", "human", "service"]
    tenant: str = "local"
    scopes: tuple[str, ...] = ()
    roles: tuple[Role, ...] = ()
    mode: Literal["live", "test"] = "live"
    name: str | None = None


class ApiKey(Caller):
    """A caller who brings a key."""

    name: str
    key: Annotated[str, Field(min_length=8)]


class JwtSettings(Section):
    """Whose tokens are believed."""

    issuer: str
    audience: str
    jwks_url: HttpUrl | None = None
    algorithms: tuple[Literal["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"], ...] = ("RS256", "ES256")
    kind: Literal["agent", "human", "service"] = "agent"
    tenant: str = "local"
    scopes: tuple[str, ...] | None = None


class AuthSettings(Section):
    """How callers are known."""

    api_keys: tuple[ApiKey, ...] = ()
    jwt: JwtSettings | None = None
    anonymous: Caller | None = None
    stdio: Caller | None = None


class ApprovalSettings(Section):
    """How much one caller may ask of people."""

    most_pending: Annotated[int, Field(ge=1, le=10_000)] = 20
    cooldown: Duration = 60


class DefaultIdempotency(Section):
    """What contracts say about idempotency where they say nothing."""

    retention: Duration = 30 * 86400
    in_flight_status: Literal[409, 425] = 409
    mismatch_status: Literal[409, 422] = 422


class Defaults(Section):
    """Defaults for all contracts."""

    idempotency: DefaultIdempotency = DefaultIdempotency()


class AuditSettings(Section):
    """Where checkpoints are kept beyond this machine, and how often there is a new one."""

    anchors: tuple[dict[str, Any], ...] = ()
    sign_every: Duration = 60
    heartbeat: Duration = 3600


class SecretsSettings(Section):
    """Where our own keys lie."""

    directory: str = ".assent"


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
    limits: tuple[Limit, ...] = ()
    budgets: tuple[Budget, ...] = ()
    approvals: ApprovalSettings = ApprovalSettings()
    guards: tuple[dict[str, Any], ...] = ()
    policies: tuple[str, ...] = ()
    pins: str | None = None
    audit: AuditSettings = AuditSettings()
    secrets: SecretsSettings = SecretsSettings()

    @field_validator("policies")
    @classmethod
    def _none_yet(cls, policies: tuple[str, ...]) -> tuple[str, ...]:
        """Who writes a policy counts on it: until policies are enforced, naming one is refused and not passed over."""
        if policies:
            raise ValueError("policies are not enforced by this version; remove them, and use contracts and guards")
        return policies

    def policy_digest(self) -> str:
        """The fingerprint of what a person who approves a call relies on beside its contract."""
        return digest_of(self.model_dump(mode="json", include={"guards", "limits", "budgets"}))

    def prefix_of(self, upstream: str) -> str:
        """What stands before the names of an upstream's tools on our wire; of one that is not configured, nothing."""
        named = self.upstreams.get(upstream)
        if named is not None and named.prefix is not None:
            return named.prefix
        return f"{upstream}_" if named is not None and len(self.upstreams) > 1 else ""

    def wire_name(self, upstream: str, tool: str) -> str:
        """The name on our wire of a tool, by the name that its upstream gives it."""
        name = self.prefix_of(upstream) + tool
        return name.replace(".", "_") if self.names == "safe" else name

    def rules(self) -> tuple[Rule, ...]:
        """The guards, built."""
        return tuple(build_guard(guard) for guard in self.guards)


def load_settings(path: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """The configuration in a file; raises SettingsError with every fault, each in its line."""
    return anchored(parse_settings(_text_of(path), str(path), environment), path.resolve().parent)


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise SettingsError(Fault(f"cannot be read: {reason}", "Name a file with -c", file=str(path))) from None


def anchored(settings: Settings, home: Path) -> Settings:
    """The settings with every relative path taken from the folder the configuration stands in.

    Without `pins:` the lock file is the one beside the configuration; that it was not named stays known.
    """

    def at_home(path: str) -> str:
        return path if "://" in path else str(home / path)

    store = settings.store
    if store.startswith("sqlite:///") and not store.startswith("sqlite:////"):
        store = f"sqlite:///{home / store.removeprefix('sqlite:///')}"
    upstreams = {
        name: upstream.model_copy(update={"openapi": at_home(upstream.openapi)}) if upstream.openapi else upstream
        for name, upstream in settings.upstreams.items()
    }
    unnamed = {"pins"} - settings.model_fields_set
    found = settings.model_copy(
        update={
            "store": store,
            "upstreams": upstreams,
            "contracts": tuple(map(at_home, settings.contracts)),
            "policies": tuple(map(at_home, settings.policies)),
            "pins": at_home(settings.pins or LOCK),
            "secrets": SecretsSettings(directory=at_home(settings.secrets.directory)),
            "audit": settings.audit.model_copy(
                update={"anchors": tuple(_anchor_at(at_home, anchor) for anchor in settings.audit.anchors)}
            ),
        }
    )
    found.model_fields_set.difference_update(unnamed)
    return found


def _anchor_at(at_home: Callable[[str], str], anchor: dict[str, Any]) -> dict[str, Any]:
    places = {kind: at_home(anchor[kind]) for kind in ("directory", "git") if isinstance(anchor.get(kind), str)}
    return {**anchor, **places}


def find_settings(named: Path | None, environment: Mapping[str, str] = os.environ) -> Settings:
    """The configuration a command uses: the one named, `./assent.yaml`, or the user's own, which `wrap` uses."""
    if named is None and not Path("assent.yaml").exists() and state_directory(environment).exists():
        return user_settings(environment)
    file = find_file(named, environment)
    return (
        user_settings(environment)
        if named is None and file == user_file(environment)
        else load_settings(file, environment)
    )


def find_file(named: Path | None, environment: Mapping[str, str] = os.environ) -> Path:
    """Where the configuration stands: the file named, `./assent.yaml`, or the user's own."""
    if named is not None:
        return named
    here, user = Path("assent.yaml"), user_file(environment)
    for path in (here, user):
        if path.exists():
            return path
    raise SettingsError(Fault("there is no configuration", f"Name one with -c, or write {here} or {user}"))


def user_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the user's own configuration stands, if there is one."""
    return Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "assent" / "assent.yaml"


def state_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the user's own store and keys lie."""
    return Path(environment.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "assent"


def user_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """The user's own configuration; what it does not place lies in the user's state directory."""
    path, state = user_file(environment), state_directory(environment)
    settings = parse_settings(_text_of(path), str(path), environment) if path.exists() else Settings(mode="observe")
    places = {"store": f"sqlite:///{state}/assent.db", "secrets": SecretsSettings(directory=str(state / "keys"))}
    unplaced = {name: place for name, place in places.items() if name not in settings.model_fields_set}
    if unplaced:
        _make_private(state)
    return anchored(settings.model_copy(update=unplaced), path.parent)


def _make_private(directory: Path) -> None:
    """A directory that nobody else can read, if there is none yet."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        remedy = "Name another place with XDG_STATE_HOME, or a configuration with -c"
        raise SettingsError(Fault(f"{directory} cannot be made: {error.strerror}", remedy)) from None


def parse_settings(text: str, file: str = "", environment: Mapping[str, str] = os.environ) -> Settings:
    """The configuration in a text: YAML, or a desktop client's `{"mcpServers": ...}` as it is."""
    try:
        document = Document(text, file)
    except FaultsError as error:
        raise SettingsError(error.faults) from None
    faults: list[Fault] = []
    value = _expanded({} if document.value is None else document.value, (), environment, document, faults)
    if not isinstance(value, dict):
        faults.append(Fault("a configuration is a set of keys", "See assent.yaml in the documentation", file=file))
    if faults:
        raise SettingsError(faults)
    if "mcpServers" in value:
        value = _from_client(value)
    try:
        settings = Settings(**value)
    except ValidationError as error:
        raise SettingsError([_fault(one, document) for one in error.errors(include_url=False)]) from None
    for index, guard in enumerate(settings.guards):
        try:
            build_guard(guard)
        except SettingsError as error:
            where, line = document.locate(("guards", index))
            faults += [Fault(f.message, f.remedy, f"guards.{index}.{f.field}", where, line) for f in error.faults]
    if faults:
        raise SettingsError(faults)
    return settings


def _expanded(
    value: Any, path: tuple[Any, ...], environment: Mapping[str, str], document: Document, faults: list[Fault]
) -> Any:
    """The value with every `${NAME}` replaced from the environment, and `$${` by `${`."""
    if isinstance(value, dict):
        return {key: _expanded(item, (*path, key), environment, document, faults) for key, item in value.items()}
    if isinstance(value, list):
        return [_expanded(item, (*path, index), environment, document, faults) for index, item in enumerate(value)]
    if not isinstance(value, str) or "${" not in value:
        return value

    def replaced(match: re.Match[str]) -> str:
        name, closed = match[1], match[2]
        if name is None:
            return "${"
        well_formed = closed and _VARIABLE.fullmatch(name)
        if well_formed and name in environment:
            return environment[name]
        message, remedy = (f"${{{name}}} is not in the environment", f"Set {name}") if well_formed else _MALFORMED
        file, line = document.locate(path)
        faults.append(Fault(message, remedy, ".".join(map(str, path)), file, line))
        return ""

    return _REFERENCE.sub(replaced, value)


def _from_client(value: dict[str, Any]) -> dict[str, Any]:
    """A desktop client's file: stdio, one local user, and nothing enforced yet."""
    servers = value["mcpServers"]
    if not isinstance(servers, dict):
        raise SettingsError(Fault("it must name servers", "See the client's documentation", "mcpServers"))
    upstreams: dict[str, Any] = {}
    for name, server in servers.items():
        if not isinstance(server, dict) or not ("command" in server or "url" in server):
            raise SettingsError(Fault("it has neither command nor url", "Correct it", f"mcpServers.{name}"))
        plain = re.sub(r"[^A-Za-z0-9_-]", "-", name)[:40] or "server"
        if "command" in server:
            upstreams[plain] = {
                "command": [server["command"], *server.get("args", [])],
                "env": server.get("env", {}),
                "cwd": server.get("cwd"),
            }
        else:
            upstreams[plain] = {"url": server["url"], "headers": server.get("headers", {})}
    return {"mode": "observe", "upstreams": upstreams, "auth": {"stdio": {"kind": "agent", "scopes": ["*"]}}}


def _fault(one: Any, document: Document) -> Fault:
    loc = tuple(part for part in one["loc"] if part != "[key]" and not str(part).startswith("function-"))
    file, line = document.locate(loc)
    message, remedy = explain(one, _keys_at(loc[:-1]))
    return Fault(message, remedy, ".".join(map(str, loc)), file, line)


def _keys_at(path: tuple[Any, ...]) -> list[str]:
    model: Any = Settings
    for part in path:
        fields = getattr(model, "model_fields", {})
        if part in fields:
            model = _section_in(fields[part].annotation)
    return list(getattr(model, "model_fields", {}))


def _section_in(annotation: Any) -> Any:
    if hasattr(annotation, "model_fields"):
        return annotation
    inner = (_section_in(part) for part in getattr(annotation, "__args__", ()))
    return next((part for part in inner if part is not None), None)
