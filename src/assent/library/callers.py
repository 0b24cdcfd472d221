"""The callers of a server: the principal of a token that the SDK verified, and callers on this machine."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from mcp.server.auth.provider import AccessToken, principal_components

from assent.core.identity_claims import further_claims, group_names, mode_of
from assent.core.principal import Principal
from assent.web.http import is_loopback


def principal_of_token(token: AccessToken) -> Principal:
    """Return the principal of a token that the SDK verified: an agent, for itself or for its subject."""
    claims = token.claims or {}
    client, issuer, subject = principal_components(token)
    auth_time = claims.get("auth_time")
    return Principal(
        id=_principal_id(issuer, subject, client),
        kind="agent",
        tenant=str(claims.get("tenant", "local")),
        scopes=frozenset(token.scopes),
        acr=str(claims["acr"]) if "acr" in claims else None,
        auth_time=float(auth_time) if isinstance(auth_time, int | float) else None,
        mode=mode_of(claims),
        bearer=True,
        groups=group_names(claims.get("groups")),
        claims=further_claims(claims),
        method="token",
    )


def _principal_id(issuer: str | None, subject: str | None, client: str | None) -> str:
    """Return one id per caller, so that a client acting for itself is not mixed up with a person of the same name."""
    who = ("subject", subject) if subject else ("client", client or "")
    parts = (("issuer", issuer), who) if issuer else (who,)
    return " ".join(f"{kind}={quote(part or '', safe=':/@')}" for kind, part in parts)


def is_local(request: Any) -> bool:
    """Whether a request comes from a loopback address."""
    return is_loopback(str(getattr(getattr(request, "client", None), "host", "")))
