"""Principals: authenticated callers and the permissions they have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from assent.core.outcome import Refusal

Kind = Literal["agent", "human", "service"]
Mode = Literal["live", "test"]
Role = Literal["viewer", "approver", "operator", "auditor", "admin"]
KINDS: tuple[Kind, ...] = ("agent", "human", "service")
ROLES: tuple[Role, ...] = ("viewer", "approver", "operator", "auditor", "admin")
AT_THE_COMMAND_LINE = "operator:"
"""The prefix of the id of a person who is known by their account on this machine."""


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller and the chain of actors it acts for. There is no default principal."""

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
    """Whether it authenticated with an OAuth token, and so gets HTTP challenges."""
    groups: frozenset[str] = frozenset()
    """The groups that the identity provider or the configuration names."""
    claims: tuple[tuple[str, frozenset[str]], ...] = ()
    """Further claims of the identity provider, by name, each with its values as texts."""
    method: str = field(default="", compare=False)
    """How it authenticated: api_key, token, anonymous or stdio; empty where that is not known."""
    in_console: bool = field(default=False, compare=False)
    """Whether it is a person signed in to the console, who can authenticate again there."""

    @property
    def identity(self) -> tuple[object, ...]:
        """The identity apart from its permissions: a renewed token with other scopes belongs to the same caller."""
        return (self.tenant, self.id, self.kind, self.mode, *(actor.identity for actor in self.actors))

    @property
    def has_agent(self) -> bool:
        """Whether an agent is anywhere in the chain."""
        return self.kind == "agent" or any(actor.has_agent for actor in self.actors)

    def lacks(self, permissions: Iterable[str]) -> tuple[str, ...]:
        """The permissions that no scope of this principal grants."""
        return tuple(permission for permission in permissions if not grants(self.scopes, permission))


def mode_of(claims: Mapping[str, object], claim: str = "mode", otherwise: Mode = "live") -> Mode:
    """The mode that a token's claims state. A value that is neither is refused: it may be a misspelled `test`."""
    stated = claims.get(claim, otherwise)
    if stated == "live":
        return "live"
    if stated == "test":
        return "test"
    raise Refusal("authenticate.invalid")


def person_of(principal_id: str) -> str:
    """The person behind an id: a local account, a key and a token with one name are one person.

    Treating two people as one withholds an approval; treating one person as two would let them approve alone.
    """
    if principal_id.startswith(("https://", "http://")):
        return principal_id.partition("|")[2] or principal_id
    return principal_id.removeprefix(AT_THE_COMMAND_LINE)


@lru_cache(maxsize=65_536)
def grants(scopes: frozenset[str], permission: str) -> bool:
    """Whether the scopes grant a permission: `*` grants all, `orders:*` its branch, any other scope itself."""
    if "*" in scopes or permission in scopes:
        return True
    parts = permission.split(":")
    return any(":".join(parts[:depth]) + ":*" in scopes for depth in range(1, len(parts)))
