"""Finds, reads and checks the configuration file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assent.contract.explanations import explain
from assent.contract.yaml_document import YamlDocument
from assent.errors import Fault, FaultsError, SettingsError

if TYPE_CHECKING:
    from assent.config.model import Settings

_REFERENCE = re.compile(r"\$\$\{|\$\{([^}]*)(\}?)")


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


_MALFORMED = (
    "the text after ${ is not a variable name",
    "Write ${NAME} with letters, digits and underscores, or $${ for a literal ${",
)


def load_settings(path: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """Loads a configuration file; raises SettingsError with every fault and its line."""
    return resolve_paths(parse_settings(_text_of(path), str(path), environment), path.resolve().parent)


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        fault = Fault(f"the configuration cannot be read: {reason}", "Name another file with -c", file=str(path))
        raise SettingsError(fault) from None


def resolve_paths(settings: Settings, home: Path) -> Settings:
    """The settings with relative paths resolved against the configuration's folder.

    Without `pins:` the lock file beside the configuration is used, and `model_fields_set` still says that it
    was not configured.
    """
    from assent.config.model import LOCK, SecretsSettings

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
    """The settings a command uses: the named file, `./assent.yaml`, or the user's own file, which `wrap` uses."""
    if named is None and not Path("assent.yaml").exists() and state_directory(environment).exists():
        return user_settings(environment)
    file = find_file(named, environment)
    return (
        user_settings(environment)
        if named is None and file == user_file(environment)
        else load_settings(file, environment)
    )


def find_file(named: Path | None, environment: Mapping[str, str] = os.environ) -> Path:
    """The path of the configuration: the named file, `./assent.yaml`, or the user's own file."""
    if named is not None:
        return named
    here, user = Path("assent.yaml"), user_file(environment)
    for path in (here, user):
        if path.exists():
            return path
    raise SettingsError(Fault("no configuration was found", f"Name one with -c, or create {here} or {user}"))


def user_file(environment: Mapping[str, str] = os.environ) -> Path:
    """The path of the user's own configuration, which may not exist."""
    return Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "assent" / "assent.yaml"


def state_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """The directory of the user's own store and keys."""
    return Path(environment.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "assent"


def user_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """The user's own configuration; by default its store and keys are in the user's state directory."""
    from assent.config.model import SecretsSettings, Settings

    path, state = user_file(environment), state_directory(environment)
    settings = parse_settings(_text_of(path), str(path), environment) if path.exists() else Settings(mode="observe")
    places = {"store": f"sqlite:///{state}/assent.db", "secrets": SecretsSettings(directory=str(state / "keys"))}
    unplaced = {name: place for name, place in places.items() if name not in settings.model_fields_set}
    if unplaced:
        _make_private(state)
    return resolve_paths(settings.model_copy(update=unplaced), path.parent)


def _make_private(directory: Path) -> None:
    """Creates a directory that only the user can read, if it does not exist."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        remedy = "Choose another directory with XDG_STATE_HOME, or a configuration with -c"
        raise SettingsError(Fault(f"{directory} cannot be created: {error.strerror}", remedy)) from None


def parse_settings(text: str, file: str = "", environment: Mapping[str, str] = os.environ) -> Settings:
    """Parses a configuration: YAML, or a desktop client's `{"mcpServers": ...}` file."""
    from pydantic import ValidationError

    from assent.config.model import Settings
    from assent.guards import build_guard

    try:
        document = YamlDocument(text, file)
    except FaultsError as error:
        raise SettingsError(error.faults) from None
    faults: list[Fault] = []
    value = _expand({} if document.value is None else document.value, (), environment, document, faults)
    if not isinstance(value, dict):
        message = "a configuration is a mapping of keys to values"
        faults.append(Fault(message, "See docs/reference/configuration.md", file=file))
    if faults:
        raise SettingsError(faults)
    if "mcpServers" in value:
        value = _from_desktop_client(value)
    try:
        settings = Settings(**value)
    except ValidationError as error:
        raise SettingsError([_fault(one, document) for one in error.errors(include_url=False)]) from None
    for index, guard in enumerate(settings.guards):
        try:
            build_guard(guard)
        except SettingsError as error:
            faults += [_guard_fault(fault, index, document) for fault in error.faults]
    if faults:
        raise SettingsError(faults)
    return settings


def _guard_fault(fault: Fault, index: int, document: YamlDocument) -> Fault:
    """A fault of one guard with the line of the option that it is about."""
    path = tuple(int(part) if part.isdecimal() else part for part in fault.field.split(".") if part)
    where, line = document.locate(("guards", index, *path))
    return Fault(fault.message, fault.remedy, ".".join(map(str, ("guards", index, *path))), where, line)


def _expand(
    value: Any, path: tuple[Any, ...], environment: Mapping[str, str], document: YamlDocument, faults: list[Fault]
) -> Any:
    """Replaces every `${NAME}` with the environment variable, and `$${` with `${`."""
    if isinstance(value, dict):
        return {key: _expand(item, (*path, key), environment, document, faults) for key, item in value.items()}
    if isinstance(value, list):
        return [_expand(item, (*path, index), environment, document, faults) for index, item in enumerate(value)]
    if not isinstance(value, str) or "${" not in value:
        return value

    def replacement(match: re.Match[str]) -> str:
        name, closed = match[1], match[2]
        if name is None:
            return "${"
        well_formed = closed and _VARIABLE.fullmatch(name)
        if well_formed and name in environment:
            return environment[name]
        message, remedy = (f"the variable {name} is not set", f"Set {name}") if well_formed else _MALFORMED
        file, line = document.locate(path)
        faults.append(Fault(message, remedy, ".".join(map(str, path)), file, line))
        return ""

    return _REFERENCE.sub(replacement, value)


def _from_desktop_client(value: dict[str, Any]) -> dict[str, Any]:
    """Settings from a desktop client's file: stdio, one local user, observe mode."""
    servers = value["mcpServers"]
    if not isinstance(servers, dict):
        raise SettingsError(Fault("it must be a mapping of servers", "See the client's documentation", "mcpServers"))
    upstreams: dict[str, Any] = {}
    for name, server in servers.items():
        if not isinstance(server, dict) or not ("command" in server or "url" in server):
            fault = Fault("the server has neither command nor url", "Add one of them", f"mcpServers.{name}")
            raise SettingsError(fault)
        safe_name = re.sub(r"[^A-Za-z0-9_-]", "-", name)[:40] or "server"
        if "command" in server:
            upstreams[safe_name] = {
                "command": [server["command"], *server.get("args", [])],
                "env": server.get("env", {}),
                "cwd": server.get("cwd"),
            }
        else:
            transport = "sse" if server.get("type") == "sse" else "http"
            upstreams[safe_name] = {
                "url": server["url"],
                "transport": transport,
                "headers": server.get("headers", {}),
            }
    return {"mode": "observe", "upstreams": upstreams, "auth": {"stdio": {"kind": "agent", "scopes": ["*"]}}}


def _fault(one: Any, document: YamlDocument) -> Fault:
    loc = tuple(part for part in one["loc"] if part != "[key]" and not str(part).startswith("function-"))
    file, line = document.locate(loc)
    message, remedy = explain(one, _keys_at(loc[:-1]))
    return Fault(message, remedy, ".".join(map(str, loc)), file, line)


def _keys_at(path: tuple[Any, ...]) -> list[str]:
    from assent.config.model import Settings

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
