"""The caller's own OAuth token, kept while its request is served, so that it can be exchanged for another."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field

from assent.core.principal import Principal
from assent.upstreams.oauth.owner import CredentialOwner, owner_of


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
