"""Credentials for upstreams: whose they are, how a request gets one, and what Assent says about itself as a client."""

from __future__ import annotations

import re
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from assent.core.principal import KEY_OF, Principal, is_subject, person_of

_SCOPE = re.compile(rb'\bscope="([^"]{0,1000})"')
_WORD = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")
_MOST_WORDS = 50


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


class Credentials(Protocol):
    """Header lines with the credential of an owner."""

    async def header(self, owner: CredentialOwner) -> bytes:
        """The header line. Raises NotConnected if the owner has no credential."""
        ...

    async def renew(self, owner: CredentialOwner, rejected: bytes) -> bytes:
        """Another header line than the one that was rejected, or NotConnected."""
        ...

    async def widen(self, owner: CredentialOwner, rejected: bytes, scope: str) -> bytes:
        """A header line with the scope that the rejected one lacks, or NotConnected."""
        ...


def bearer_line(token: str) -> bytes:
    """The header line that sends a token."""
    return b"authorization: Bearer %b\r\n" % token.encode()


def bearer_token(line: bytes) -> str:
    """The token in a header line."""
    return line.removeprefix(b"authorization: Bearer ").rstrip().decode()


def insufficient_scope(challenge: bytes | None) -> str | None:
    """The scopes that a 403 answer asks for, or None if it is about something else. What is no scope is left out."""
    if challenge is None or b"insufficient_scope" not in challenge:
        return None
    found = _SCOPE.search(challenge)
    words = found[1].decode("latin-1").split(" ") if found else []
    return " ".join([word for word in words if _WORD.fullmatch(word)][:_MOST_WORDS])


@dataclass(frozen=True, slots=True)
class SubjectToken:
    """A verified token and the principal that it belongs to. It is never shown, kept or sent to an upstream."""

    principal: Principal
    token: str = field(repr=False)


current_subject: ContextVar[SubjectToken | None] = ContextVar("current_subject", default=None)
"""The token of the request that is being served; None if the caller has another kind of credential."""


def subject_of(owner: CredentialOwner) -> str | None:
    """The token of the request that is being served, if it belongs to this owner."""
    subject = current_subject.get()
    if subject is None or owner_of(subject.principal) != (owner.tenant, owner.id):
        return None
    return subject.token


CALLBACK_PATH = "/console/connections/callback"


def client_metadata(redirect_uri: str) -> dict[str, Any]:
    """What Assent says about itself as a client."""
    native = urlsplit(redirect_uri).hostname in ("127.0.0.1", "::1", "localhost")
    return {
        "client_name": "Assent",
        "application_type": "native" if native else "web",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
