"""Finds the servers in a client's file and puts `assent wrap` before their commands, or takes it away."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any

from assent.cli.client_files.gateways import ClientGateway
from assent.cli.client_files.json_file import JsonFile
from assent.cli.client_files.tree_file import TomlFile, YamlFile

# Where clients keep their servers; `*` is every project.
TABLES: Sequence[tuple[str, ...]] = (
    ("mcpServers",),
    ("servers",),
    ("mcp", "servers"),
    ("mcp_servers",),
    ("context_servers",),
    ("extensions",),
    ("projects", "*", "mcpServers"),
)
_CODEX = ("mcp_servers",)
_URLS = ("url", "httpUrl", "serverUrl", "uri")
_GEMINI_URL = "httpUrl"
_KEPT_FIELDS = ("name", "type", "enabled", "description", "timeout")
_STREAMABLE = {"sse": "http"}
_HEADERS = ("headers", "http_headers", "requestOptions")
_ENVIRONMENT = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_REFERENCE = re.compile(r"\$\{(?!env:)[a-z]+:")


ClientFile = JsonFile | TomlFile | YamlFile
"""A parsed file whose edits keep comments and order."""


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """One server: the path of the table with its command or URL, and the names of those keys."""

    name: str
    table: tuple[Any, ...]
    path: tuple[Any, ...]
    fields: Mapping[str, Any]
    command_key: str = ""
    url_key: str = ""

    @property
    def words(self) -> list[str]:
        """The command with its arguments."""
        arguments = self.fields.get("args")
        return [str(self.fields[self.command_key]), *map(str, arguments if isinstance(arguments, list) else [])]

    @property
    def url(self) -> str:
        return str(self.fields[self.url_key]) if self.url_key else ""

    @property
    def wrapped_at(self) -> int | None:
        """The number of arguments that belong to `assent wrap`, up to and with `--`; None if it is not wrapped."""
        words = self.words
        if PurePath(words[0]).stem != "assent" or words[1:2] != ["wrap"] or "--" not in words:
            return None
        return words.index("--")


@dataclass(slots=True)
class Changes:
    """What an edit did: servers wrapped, moved behind the gateway, and left alone with the reason."""

    wrapped: list[str] = field(default_factory=list)
    moved: dict[ClientGateway, dict[str, dict[str, Any]]] = field(default_factory=dict)
    """The upstreams that servers with a URL became, by the gateway that they are behind now."""
    left: dict[str, str] = field(default_factory=dict)
    governed: dict[str, str] = field(default_factory=dict)
    """The servers that are gateways of the user's already, with their addresses."""


def open_file(text: str, name: str) -> ClientFile:
    """Parse a client's file by its suffix; raises ValueError if it cannot be read."""
    suffix = Path(name).suffix.lower()
    if suffix == ".toml":
        return TomlFile(text)
    return YamlFile(text) if suffix in (".yaml", ".yml") else JsonFile(text)


def entries_in(data: Any) -> Iterator[ServerEntry]:
    """Yield every server of a client's file."""
    for table in _tables(data):
        holder = _at(data, table)
        named = holder.items() if isinstance(holder, Mapping) else enumerate(holder)
        for key, fields in named:
            if not isinstance(fields, Mapping):
                continue  # An entry that was emptied, such as null, starts nothing.
            name = str(fields.get("name") or key) if isinstance(key, int) else str(key)
            yield _entry(name, table, (*table, key), fields)


def has_servers(data: Any) -> bool:
    """Whether the file has a table of servers, even an empty one."""
    return any(True for _ in _tables(data))


def is_governed(entry: ServerEntry, gateways: Collection[str]) -> bool:
    """Whether a server is wrapped, or is one of these gateways. What starts in another way was not looked at."""
    if entry.command_key:
        return entry.wrapped_at is not None
    url = _by_number(entry.url)
    return any(re.match(rf"{re.escape(_by_number(one))}(?:$|[/?#])", url) for one in gateways)


def _by_number(url: str) -> str:
    return url.replace("://localhost:", "://127.0.0.1:", 1)


def obstacle(entry: ServerEntry) -> str:
    """Why Assent cannot be put before a server that is not governed; empty if it can."""
    if entry.url_key:
        try:
            _upstream(entry, gemini=False)
        except ValueError as error:
            return str(error)
        return ""
    if not entry.command_key:
        return "Assent finds neither a command nor a URL in it"
    arguments = entry.fields.get("args")
    if arguments is not None and not isinstance(arguments, list):
        return "its `args` are not a list"
    if any(PurePath(one).stem == "assent" and two == "wrap" for one, two in pairwise(entry.words)):
        return "its command has `assent wrap` in another form than Assent writes"  # such as `uvx assent wrap`
    return ""


def wrap_servers(file: ClientFile, assent: str) -> Changes:
    """Put `assent wrap --` before every command that is not wrapped yet."""
    changes = Changes()
    for entry in list(entries_in(file.data)):
        if entry.url_key or is_governed(entry, ()):
            continue
        if reason := obstacle(entry):
            changes.left[entry.name] = reason
        else:
            _wrap(file, entry, assent)
            changes.wrapped.append(entry.name)
    return changes


def unwrap_servers(file: ClientFile) -> list[str]:
    """Take `assent wrap --` away from every server; return their names."""
    unwrapped = []
    for entry in list(entries_in(file.data)):
        if not entry.command_key or (at := entry.wrapped_at) is None:
            continue
        if len(entry.words) > at + 1:
            file.replace((*entry.path, entry.command_key), entry.words[at + 1])
            file.drop_first((*entry.path, "args"), at + 1)
            unwrapped.append(entry.name)
    return unwrapped


def move_servers(
    file: ClientFile, gateway_of: Callable[[tuple[Any, ...]], ClientGateway], gateways: Collection[str]
) -> Changes:
    """Replace the servers that have a URL, and are no gateway, with one entry for the gateway of their table."""
    changes, older = Changes(), _is_gemini(file.data)
    for table, entries in _url_entries(file).items():
        gateway = gateway_of(table)
        gone: list[ServerEntry] = []
        for entry in entries:
            if is_governed(entry, gateways):
                changes.governed[entry.name] = entry.url
                continue
            if _by_number(entry.url.rstrip("/")) == gateway.url:
                changes.left[entry.name] = f"the gateway of {gateway.file} would get the same address"
                continue
            try:
                upstream = _upstream(entry, older)
            except ValueError as error:
                changes.left[entry.name] = str(error)
            else:
                moved = changes.moved.setdefault(gateway, {})
                moved[_upstream_name(entry.name, moved)] = upstream
                gone.append(entry)
        keys = [entry.path[len(table)] for entry in gone]
        here = [entry for entry in entries_in(file.data) if entry.table == table and entry not in gone]
        if gone and not any(entry.url.rstrip("/") == gateway.url for entry in here):
            name = _upstream_name("assent", [entry.name for entry in here])
            file.put_instead(table, keys.pop(0), name, _gateway_entry(gone[0], gateway, older, name))
        file.remove(table, keys)
    return changes


def put_back(file: ClientFile, old: Any, gateway_of: Callable[[tuple[Any, ...]], ClientGateway]) -> list[str]:
    """Put the servers with a URL of an older file back in place of the gateway's entry; return their names."""
    back: list[str] = []
    for table, entries in _url_entries(old).items():
        holder = _at_or_none(file.data, table)
        if not isinstance(holder, Mapping):
            continue
        now, ours = _url_entries(file).get(table, []), gateway_of(table).url
        place = next((entry.path[len(table)] for entry in now if entry.url.rstrip("/") == ours), None)
        if place is None:
            continue
        lost = {key: value for key, value in _at(old.data, table).items() if key in {one.path[-1] for one in entries}}
        first, *rest = [(key, value) for key, value in lost.items() if key not in holder] or [("", None)]
        if first[1] is None:
            continue
        file.put_instead(table, place, str(first[0]), first[1])
        for key, value in rest:
            file.add(table, str(key), value)
        back += [str(first[0]), *(str(key) for key, _ in rest)]
    return back


def _url_entries(file: ClientFile) -> dict[tuple[Any, ...], list[ServerEntry]]:
    found: dict[tuple[Any, ...], list[ServerEntry]] = {}
    for entry in entries_in(file.data):
        if entry.url_key:
            found.setdefault(entry.table, []).append(entry)
    return found


def _at_or_none(data: Any, path: Sequence[Any]) -> Any:
    try:
        return _at(data, path)
    except (KeyError, IndexError, TypeError):
        return None


def _gateway_entry(entry: ServerEntry, gateway: ClientGateway, older: bool, name: str) -> dict[str, Any]:
    """The gateway's entry, written as the client writes the server that it replaces."""
    kept = {key: value for key, value in entry.fields.items() if key in _KEPT_FIELDS}
    if "type" in kept:
        kept["type"] = _STREAMABLE.get(str(kept["type"]), kept["type"])
    if "name" in kept:
        kept["name"] = name
    fields = {**kept, _GEMINI_URL if older else entry.url_key: gateway.url, **_key_fields(entry, gateway.key)}
    if len(entry.path) == len(entry.table) + 1:
        return fields
    return {"enabled": True, str(entry.path[-1]): fields}


def _key_fields(entry: ServerEntry, key: str) -> dict[str, Any]:
    """The header with the caller's key, as each client writes headers."""
    if not key:
        return {}
    headers = {"Authorization": f"Bearer {key}"}
    if entry.table == _CODEX:
        return {"http_headers": headers}
    is_continue = isinstance(entry.path[len(entry.table)], int)
    return {"requestOptions": {"headers": headers}} if is_continue else {"headers": headers}


def _is_gemini(data: Any) -> bool:
    """Whether some server has `httpUrl`: there `url` is the older SSE transport, which the gateway does not speak."""
    return any(_GEMINI_URL in entry.fields for entry in entries_in(data))


def _tables(data: Any) -> Iterator[tuple[Any, ...]]:
    for pattern in TABLES:
        places: list[tuple[Any, ...]] = [()]
        for part in pattern:
            places = [
                (*place, key)
                for place in places
                for holder in [_at(data, place)]
                if isinstance(holder, Mapping)
                for key in (holder if part == "*" else [part] if part in holder else [])
            ]
        yield from (place for place in places if _is_table(_at(data, place)))


def _is_table(holder: Any) -> bool:
    """Whether a value lists servers: an empty mapping, or a mapping or list with mappings."""
    entries = list(holder.values()) if isinstance(holder, Mapping) else holder
    if not entries:
        return isinstance(holder, Mapping)
    return isinstance(entries, list) and any(isinstance(entry, Mapping) for entry in entries)


def _at(data: Any, path: Sequence[Any]) -> Any:
    for key in path:
        data = data[key]
    return data


def _entry(name: str, table: tuple[Any, ...], path: tuple[Any, ...], fields: Mapping[str, Any]) -> ServerEntry:
    for inner in ("config", "command"):  # Goose nests the settings, older Zed the command.
        if isinstance(fields.get(inner), Mapping):
            path, fields = (*path, inner), fields[inner]
    command = next((key for key in ("command", "cmd", "path") if isinstance(fields.get(key), str)), "")
    url = "" if command else next((key for key in _URLS if isinstance(fields.get(key), str)), "")
    return ServerEntry(name, table, path, fields, command, url)


def _wrap(file: ClientFile, entry: ServerEntry, assent: str) -> None:
    before = ["wrap", "--", entry.words[0]]
    file.replace((*entry.path, entry.command_key), assent)
    if isinstance(entry.fields.get("args"), list):
        file.prepend((*entry.path, "args"), before)
    elif "args" in entry.fields:
        file.replace((*entry.path, "args"), before)
    else:
        file.add(entry.path, "args", before, after=entry.command_key)
    if entry.table == _CODEX and "required" not in entry.fields:
        file.add(entry.path, "required", True)  # Otherwise Codex begins without a server that starts slowly.


def _upstream(entry: ServerEntry, gemini: bool) -> dict[str, Any]:
    """An entry with a URL as an upstream of `assent.yaml`; raises ValueError if only the client can fill it in."""
    headers: dict[str, str] = {}
    for key in _HEADERS:
        table = entry.fields.get(key)
        table = table.get("headers") if key == "requestOptions" and isinstance(table, Mapping) else table
        headers |= {str(name): _portable(str(value)) for name, value in (table or {}).items()}
    for name, variable in (entry.fields.get("env_http_headers") or {}).items():
        headers[str(name)] = f"${{{variable}}}"
    if variable := entry.fields.get("bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${{{variable}}}"
    url = _portable(entry.url)
    # Gemini writes the older transport as `url` and the newer one as `httpUrl`.
    older = entry.fields.get("type") == "sse" or (entry.url_key == "url" and gemini)
    transport = {"transport": "sse"} if older else {}
    return {"url": url, **transport, **({"headers": headers} if headers else {})}


def _portable(text: str) -> str:
    if _REFERENCE.search(text):
        raise ValueError("it uses a variable that only the client can fill in")
    return _ENVIRONMENT.sub(r"${\1}", text)


def _upstream_name(name: str, taken: Collection[str]) -> str:
    base = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:36] or "server"
    number, free = 1, base
    while free in taken:
        number += 1
        free = f"{base}-{number}"
    return free
