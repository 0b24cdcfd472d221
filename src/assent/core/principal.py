"""Who is calling, and what may they do?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

Kind = Literal["agent", "human", "service"]
Mode = Literal["live", "test"]
Role = Literal["viewer", "approver", "operator", "auditor", "admin"]
KINDS: tuple[Kind, ...] = ("agent", "human", "service")
ROLES: tuple[Role, ...] = ("viewer", "approver", "operator", "auditor", "admin")
AT_THE_COMMAND_LINE = "operator:"
"""How the id of somebody begins who is known by their account on this machine."""


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller and the chain of actors it acts for. There is no default one."""

    id: str
    kind: Kind
    tenant: str = "local"
    scopes: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    acr: str | None = None
    auth_time: float | None = None
    mode: Mode = "live"
    actors: tuple[Principal, ...] = ()
    bearer: bool = field(default=False, compare=False)
    """Whether it came with an OAuth token, and is therefore challenged over HTTP."""

    @property
    def identity(self) -> tuple[object, ...]:
        """Who it is, whatever it may do today: a renewed token with other scopes is the same caller's."""
        return (self.tenant, self.id, self.kind, self.mode, *(actor.identity for actor in self.actors))

    @property
    def has_agent(self) -> bool:
        """Whether an agent stands anywhere in the chain."""
        return self.kind == "agent" or any(actor.has_agent for actor in self.actors)

    def lacks(self, permissions: Iterable[str]) -> tuple[str, ...]:
        """The permissions that no scope of this principal grants."""
        return tuple(permission for permission in permissions if not grants(self.scopes, permission))


def person_of(principal_id: str) -> str:
    """Who goes by this id: the account at the command line, a key and a token of one name are one person.

    Two who share a name are taken for one, which withholds a voice; one who is taken for two would approve alone.
    """
    if principal_id.startswith(("https://", "http://")):
        return principal_id.partition("|")[2] or principal_id
    return principal_id.removeprefix(AT_THE_COMMAND_LINE)


@lru_cache(maxsize=65_536)
def grants(scopes: frozenset[str], permission: str) -> bool:
    """Whether the scopes allow a permission: `*` everything, `orders:*` its branch, anything else itself."""
    if "*" in scopes or permission in scopes:
        return True
    parts = permission.split(":")
    return any(":".join(parts[:depth]) + ":*" in scopes for depth in range(1, len(parts)))
