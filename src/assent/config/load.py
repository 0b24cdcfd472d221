"""Finds, reads and checks the configuration file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assent.config import folders
from assent.config.references import UNREAD, References
from assent.config.trust import check_trusted
from assent.contract.yaml_document import YamlDocument
from assent.errors import Fault, FaultsError, SettingsError

if TYPE_CHECKING:
    from assent.config.model import Settings

HERE = Path("assent.yaml")
CALLERS = ("auth", "console", "notify")
"""The parts that only a gateway uses: who calls, who signs in, who is told."""
OUTSIDE = ("upstreams", *CALLERS)
"""The parts that a command for the store alone does not use."""
UNASKED = ("auth.api_keys.*.key", "auth.jwt.introspection", "console", "notify")
"""The parts that a command does not use which judges calls without a caller who authenticates."""


def load_settings(
    path: Path,
    environment: Mapping[str, str] = os.environ,
    *,
    unused: Sequence[str] = (),
    but: Sequence[str] = (),
    found: bool = False,
) -> Settings:
    """Loads a configuration file; raises SettingsError with every fault and its line.

    References in the `unused` parts are not resolved, except in the parts `but`. A file that was only `found` may not
    read secrets.
    """
    home = path.resolve().parent
    references = References(environment, unused, but, found, home)
    return resolve_paths(parse_settings(_text_of(path), str(path), references=references), home)


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
            "pins": settings.pins if settings.pins == "off" else at_home(settings.pins or LOCK),
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


def find_settings(
    named: Path | None,
    environment: Mapping[str, str] = os.environ,
    *,
    unused: Sequence[str] = (),
    but: Sequence[str] = (),
) -> Settings:
    """The settings a command uses: the named file, `./assent.yaml`, or the user's own file, which `wrap` uses.

    The command says which parts it does not use, and in them which it does use: see `load_settings`.
    """
    if named is None and not HERE.exists() and state_directory(environment).exists():
        return user_settings(environment, unused=unused, but=but)
    file = find_file(named, environment)
    if named is None and file == user_file(environment):
        return user_settings(environment, unused=unused, but=but)
    return load_settings(file, environment, unused=unused, but=but, found=named is None)


def find_file(named: Path | None, environment: Mapping[str, str] = os.environ) -> Path:
    """The path of the configuration: the named file, `./assent.yaml` of a trusted folder, or the user's own file."""
    if named is not None:
        return named
    if HERE.exists():
        check_trusted(HERE, environment)
        return HERE
    user = user_file(environment)
    if not user.exists():
        make = f"Name one with -c, or make one: `assent add` writes {user}, and `assent init --team` {HERE}"
        raise SettingsError(Fault("no configuration was found", make))
    return user


def user_file(environment: Mapping[str, str] = os.environ) -> Path:
    """The path of the user's own configuration, which may not exist."""
    return _own(folders.config_folder, environment) / "assent.yaml"


def state_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """The directory of the user's own store and keys."""
    return _own(folders.state_folder, environment)


def own_path(path: str, environment: Mapping[str, str] = os.environ) -> Path:
    """A path that may begin with the user's home folder, in full."""
    return _own(lambda of: folders.expand(path, of), environment)


def _own(folder: Callable[[Mapping[str, str]], str], environment: Mapping[str, str]) -> Path:
    try:
        return Path(folder(environment))
    except folders.NoHome as error:
        raise SettingsError(Fault(str(error))) from None


def user_settings(
    environment: Mapping[str, str] = os.environ, *, unused: Sequence[str] = (), but: Sequence[str] = ()
) -> Settings:
    """The user's own configuration; by default its store and keys are in the user's state directory."""
    from assent.config.model import SecretsSettings, Settings

    path, state = user_file(environment), state_directory(environment)
    references = References(environment, unused, but, home=path.parent)
    settings = (
        parse_settings(_text_of(path), str(path), references=references) if path.exists() else Settings(mode="observe")
    )
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


def parse_settings(
    text: str, file: str = "", environment: Mapping[str, str] = os.environ, references: References | None = None
) -> Settings:
    """Parses a configuration: YAML, or a desktop client's `{"mcpServers": ...}` file."""
    from assent.rules.guards import build_guard

    try:
        document = YamlDocument(text, file)
    except FaultsError as error:
        raise SettingsError(error.faults) from None
    references = references or References(environment)
    faults = references.faults
    value = references.resolve({} if document.value is None else document.value, document)
    if not isinstance(value, dict):
        message = "a configuration is a mapping of keys to values"
        faults.append(Fault(message, "See docs/reference/configuration.md", file=file))
    if faults:
        raise SettingsError(faults)
    if "mcpServers" in value:
        value = _from_desktop_client(value)
    settings = _validate_settings(value, document, references)
    for index, guard in enumerate(settings.guards):
        try:
            build_guard(guard)
        except SettingsError as error:
            faults += [_guard_fault(fault, index, document) for fault in error.faults]
    if faults:
        raise SettingsError(faults)
    return settings


def check_structure(text: str, file: str) -> None:
    """Raises SettingsError if a configuration is not valid, whatever its references stand for."""
    parse_settings(text, file, references=References({}, unused=["*"]))


def _validate_settings(value: dict[str, Any], document: YamlDocument, references: References) -> Settings:
    """The settings; an entry that cannot be checked because it is unused and not resolved is left out."""
    from pydantic import ValidationError

    from assent.config.model import Settings

    while True:
        try:
            return Settings(**value)
        except ValidationError as error:
            found = error.errors(include_url=False)
            entries = [_entry_of(one["loc"]) for one in found]
            if not all(_is_unread(value, entry, references) for entry in entries):
                raise SettingsError([_fault(one, document) for one in found]) from None
            for entry in sorted(set(entries), key=_place_of, reverse=True):
                _remove(value, entry)


def _entry_of(path: tuple[Any, ...]) -> tuple[Any, ...]:
    """The entry that a path belongs to: an upstream, a key, a section."""
    return path[:3] if len(path) > 2 and isinstance(path[2], int) else path[:2]


def _place_of(entry: tuple[Any, ...]) -> tuple[str, int]:
    """A key that puts the items of one list in order, so that the last is removed first."""
    *before, last = entry
    return (str(before), last) if isinstance(last, int) else (str(entry), 0)


def _is_unread(value: Any, entry: tuple[Any, ...], references: References) -> bool:
    if not entry or not references.is_unused(entry):
        return False
    for part in entry:
        if not isinstance(value, dict | list) or (part not in value if isinstance(value, dict) else part >= len(value)):
            return False
        value = value[part]
    return UNREAD in json.dumps(value, default=str)


def _remove(value: Any, entry: tuple[Any, ...]) -> None:
    for part in entry[:-1]:
        value = value[part]
    del value[entry[-1]]


def _guard_fault(fault: Fault, index: int, document: YamlDocument) -> Fault:
    """A fault of one guard with the line of the option that it is about."""
    path = tuple(int(part) if part.isdecimal() else part for part in fault.field.split(".") if part)
    where, line = document.locate(("guards", index, *path))
    return Fault(fault.message, fault.remedy, ".".join(map(str, ("guards", index, *path))), where, line)


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
    from assent.config.model import Settings
    from assent.contract.reader import names_at
    from assent.contract.show import explain

    message, remedy = explain(one, names_at(Settings, loc[:-1]))
    return Fault(message, remedy, ".".join(map(str, loc)), file, line)
