"""The gateways for a client's servers that have a URL: one for each table of its file, with a key of its own.

So the servers and credentials of one client, or of one project, are not offered to another.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from assent.errors import FaultsError

DEFAULT_PORT = 8420
_NOT_YET = "made-when-it-is-written"


@dataclass(frozen=True, slots=True)
class ClientGateway:
    """Where the servers of one table move to: a configuration, the port to serve it at, and the caller's key."""

    file: Path
    name: str
    port: int = DEFAULT_PORT
    key: str = ""
    """Empty for a configuration that the user named: who may call it is the user's matter."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def command(self) -> str:
        """The command that starts it."""
        return f"assent serve -c {self.file}" + ("" if self.port == DEFAULT_PORT else f" --port {self.port}")

    def make_folder(self) -> None:
        """Creates the private folder of its store and keys."""
        from assent.config.load import state_directory

        if self.key:
            (state_directory() / "clients").mkdir(mode=0o700, parents=True, exist_ok=True)

    def new_file(self) -> str:
        """The configuration before any server has moved."""
        from assent.config.load import state_directory

        state = state_directory() / "clients" / self.name
        return (
            f"# Written by `assent init`. Start the gateway: {self.command}\n"
            "preset: recommended\n"
            f"store: sqlite:///{state}.db\n"
            f"public_url: http://127.0.0.1:{self.port}\n"
            f"secrets: {{directory: {state}-keys}}\n"
            "upstreams: {}\n"
            "auth:\n"
            f"  api_keys: [{{name: {self.name}, key: {self.key}, kind: agent, scopes: ['*']}}]\n"
        )


def gateway_of(client: str, table: Sequence[Any], *, make_key: bool, taken: Collection[int] = ()) -> ClientGateway:
    """The gateway of a table, as its configuration says, or a new one. A preview makes no key."""
    name = _name(client, table)
    file = _folder() / f"{name}.yaml"
    kept = _read_port_and_key(file)
    if kept is not None:
        return ClientGateway(file, name, *kept)
    return ClientGateway(file, name, _free_port(taken), secrets.token_urlsafe(24) if make_key else _NOT_YET)


def gateway_commands() -> dict[str, str]:
    """The commands that start the gateways of clients, by the address that clients use."""
    found = [(file, _read_port_and_key(file)) for file in sorted(_folder().glob("*.yaml"))]
    gateways = [ClientGateway(file, file.stem, *kept) for file, kept in found if kept is not None]
    return {one.url: one.command for one in gateways}


def made_by_init(file: Path) -> bool:
    """Whether a configuration is one that `assent init` makes for a client."""
    return file.parent == _folder()


def _folder() -> Path:
    from assent.config.load import user_file

    return user_file().parent / "clients"


def _name(client: str, table: Sequence[Any]) -> str:
    """A name for files: the client, and the project if the table belongs to one."""
    parts = [client, *(str(one) for one in table[1:2] if table[0] == "projects")]
    return "-".join(_short(part) for part in parts)


def _short(text: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9]+", "-", Path(text).stem).strip("-")[:30] or "client"
    return plain if plain == text else f"{plain}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def _read_port_and_key(file: Path) -> tuple[int, str] | None:
    """The port and the key in a client's configuration, or None if it has none."""
    from assent.contract.yaml_document import YamlDocument

    try:
        value = YamlDocument(file.read_text(encoding="utf-8")).value
        return urlsplit(value["public_url"]).port or DEFAULT_PORT, str(value["auth"]["api_keys"][0]["key"])
    except (OSError, FaultsError, UnicodeDecodeError, KeyError, IndexError, TypeError, ValueError):
        return None


def _free_port(more: Collection[int]) -> int:
    """The first port that no other configuration of the user is served at."""
    from assent.cli.shared.upstream_entries import has_upstreams
    from assent.config.load import user_file

    taken = {*more, *(found[0] for file in _folder().glob("*.yaml") if (found := _read_port_and_key(file)))}
    taken |= {DEFAULT_PORT} if user_file().exists() and has_upstreams(user_file()) else set()
    return next(port for port in range(DEFAULT_PORT, DEFAULT_PORT + 1000) if port not in taken)
