"""The URL of a PostgreSQL store: the server, and what is ours in its query."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit

from assent.errors import Fault, SettingsError


@dataclass(frozen=True, slots=True)
class Address:
    server: str
    """The URL for the driver. It may hold a password."""
    name: str
    """The server and database, for messages."""
    search_path: str
    pooled: bool
    """`?pooler=transaction`: a pooler that gives every transaction another session. Most are also recognised."""

    @classmethod
    def of(cls, url: str) -> Address:
        parts = urlsplit(url)
        query = parse_qsl(parts.query, keep_blank_values=True)
        own = {name: value for name, value in query if name in ("search_path", "pooler")}
        if own.get("pooler", "transaction") != "transaction":
            raise SettingsError(
                Fault("`pooler` is not `transaction`", "A pooler in session mode needs no setting", "store")
            )
        rest = urlencode([(name, value) for name, value in query if name not in own])
        return cls(
            parts._replace(query=rest).geturl(),
            f"{parts.hostname or 'local socket'}/{parts.path.strip('/') or 'default'}",
            own.get("search_path", ""),
            "pooler" in own,
        )
