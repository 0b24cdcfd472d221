"""Principals of configured callers."""

from __future__ import annotations

from assent.config.model import AnonymousCaller, ConfiguredCaller
from assent.core.principal import Principal


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
