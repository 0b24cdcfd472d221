"""Whose credential a request to an upstream uses."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from assent.core.principal import KEY_OF, Principal, is_subject, person_of


class CredentialOwner(Protocol):
    """Whose credential it is: the tenant and the id of a principal."""

    @property
    def tenant(self) -> str: ...
    @property
    def id(self) -> str: ...


class PersonOwner(NamedTuple):
    """The owner of a credential. An account and the keys that the operator gave its name are the same owner."""

    tenant: str
    id: str


SHARED = PersonOwner("", "")
"""The owner of a credential that every caller of an upstream shares."""


def owner_of(principal: Principal) -> PersonOwner:
    """The owner whose credential a call of this principal uses.

    A key that somebody made here is an owner of its own, because names are chosen freely. Only a key with its maker's
    own name uses what the maker has.
    """
    id, maker = principal.id.partition(KEY_OF)[0], principal.maker
    if maker and id != person_of(maker):
        return PersonOwner(principal.tenant, f"{id}{KEY_OF}{maker})")
    id = maker or principal.id
    return PersonOwner(principal.tenant, id if is_subject(id) else person_of(id))


def earlier_owner(owner: CredentialOwner) -> PersonOwner | None:
    """The owner under which versions before 0.3 kept the credential of an identity provider's subject."""
    return PersonOwner(owner.tenant, person_of(owner.id)) if is_subject(owner.id) else None
