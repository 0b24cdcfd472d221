"""Whose credential a request to an upstream uses."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from assent.core.principal import Principal, person_of


class CredentialOwner(Protocol):
    """Whose credential it is: the tenant and the id of a principal."""

    @property
    def tenant(self) -> str: ...
    @property
    def id(self) -> str: ...


class PersonOwner(NamedTuple):
    """The owner of a credential, as one person: a key, an account and a token with one name are the same owner."""

    tenant: str
    id: str


SHARED = PersonOwner("", "")
"""The owner of a credential that every caller of an upstream shares."""


def owner_of(principal: Principal) -> PersonOwner:
    """The owner whose credential a call of this principal uses."""
    return PersonOwner(principal.tenant, person_of(principal.id))
