"""Principals: authenticated callers and the permissions they have (ADR 0033)."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Kind = Literal["agent", "human", "service"]
Mode = Literal["live", "test"]
Asks = Literal["person", "nobody"]
Role = Literal["viewer", "approver", "operator", "auditor", "admin"]
KINDS: tuple[Kind, ...] = ("agent", "human", "service")
ROLES: tuple[Role, ...] = ("viewer", "approver", "operator", "auditor", "admin")
AT_THE_COMMAND_LINE = "operator:"
"""The prefix of the id of a person who is known by their account on this machine."""
KEY_OF = " (key of "
"""What parts the name of a person's key from who made it, in the id of its holder: `laptop (key of ann)`."""


class Rights(NamedTuple):
    """What of a caller decides which stages can object. A plan is kept for each, so it holds nothing else."""

    kind: Kind
    mode: Mode
    bearer: bool


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
    key: str = field(default="", compare=False)
    """The start of its key in the store."""
    maker: str = field(default="", compare=False)
    """The id of the person who made its key in the console or through the API."""
    asks: Asks | None = field(default=None, compare=False)
    """The operator's word on whether this caller's client shows questions to a person; None if they say nothing."""
    only: frozenset[str] | None = None
    """The names of the only tools that exist for it, and nothing beside tools; None for all that its scopes allow."""
    has_agent: bool = field(init=False, compare=False, repr=False)
    """Whether an agent is anywhere in the chain."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "has_agent", self.kind == "agent" or any(one.has_agent for one in self.actors))

    @property
    def identity(self) -> tuple[object, ...]:
        """The identity apart from its permissions: a renewed token with other scopes belongs to the same caller."""
        return (self.tenant, self.id, self.kind, self.mode, *(actor.identity for actor in self.actors))


def is_subject(principal_id: str) -> bool:
    """Whether an identity provider names this principal: `https://issuer|subject`."""
    return principal_id.startswith(("https://", "http://"))


def person_of(principal_id: str) -> str:
    """The person behind an id: a local account, a key and a token with one name are one person, and so are all keys
    that one person made.

    Treating two people as one withholds an approval; treating one person as two would let them approve alone.
    """
    if is_subject(principal_id):
        return principal_id.partition("|")[2] or principal_id
    if KEY_OF in principal_id:
        return person_of(principal_id.partition(KEY_OF)[2].removesuffix(")"))
    return principal_id.removeprefix(AT_THE_COMMAND_LINE)


def person_key(principal_id: str) -> str:
    """The person behind an id, as people are counted: an identity provider may write their name in another case."""
    return unicodedata.normalize("NFKC", person_of(principal_id)).casefold()
