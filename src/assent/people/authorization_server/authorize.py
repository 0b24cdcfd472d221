"""Reads an authorization request of a client, before a person sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from mcp.shared.auth import InvalidRedirectUriError, OAuthClientInformationFull
from pydantic import AnyUrl, ValidationError

from assent.core.principal import grants

MOST_SCOPES = 100


class BadRequest(Exception):
    """A request that cannot be sent back to the client, because client or redirect address are not known."""


@dataclass(frozen=True, slots=True)
class Refused(Exception):
    """A request that is answered to the client with an OAuth error."""

    error: str
    description: str
    redirect_uri: str
    state: str | None


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """What a client asks a person for."""

    client: OAuthClientInformationFull
    redirect_uri: str
    redirect_given: bool
    state: str | None
    scopes: tuple[str, ...]
    challenge: str
    resource: str
    max_age: int | None
    acr: tuple[str, ...]

    @property
    def client_name(self) -> str:
        return (self.client.client_name or str(self.client.client_id))[:100]

    def answer(self, issuer: str, **fields: str) -> str:
        """Where the person's browser goes with the answer."""
        return answer_url(self.redirect_uri, self.state, iss=issuer, **fields)


def read_request(
    query: Mapping[str, str],
    client: OAuthClientInformationFull | None,
    resource: str,
    known_scopes: list[str],
    allowed: frozenset[str],
) -> AuthorizationRequest:
    """Check an authorization request. Raises BadRequest, or Refused with what the client is told."""
    if client is None:
        raise BadRequest("The application is not known here. Add the server to it again.")
    try:
        given = query.get("redirect_uri")
        redirect_uri = str(client.validate_redirect_uri(AnyUrl(given) if given else None))
    except (InvalidRedirectUriError, ValidationError):
        raise BadRequest("The application's address for the answer is not the one it registered.") from None
    state = query.get("state")

    def refused(error: str, description: str) -> Refused:
        return Refused(error, description, redirect_uri, state)

    if query.get("response_type") != "code":
        raise refused("unsupported_response_type", "response_type must be code")
    if query.get("code_challenge_method") != "S256" or not query.get("code_challenge"):
        raise refused("invalid_request", "PKCE with S256 is required")
    asked = query.get("resource", resource).rstrip("/")
    if asked != resource:
        raise refused("invalid_target", f"this server issues tokens for {resource} only")
    wanted = query.get("scope", "").split() or known_scopes
    scopes = tuple(scope for scope in dict.fromkeys(wanted) if grants(allowed, scope))[:MOST_SCOPES]
    max_age = query.get("max_age", "")
    return AuthorizationRequest(
        client,
        redirect_uri,
        given is not None,
        state,
        scopes,
        query["code_challenge"],
        resource,
        int(max_age) if max_age.isdigit() and len(max_age) < 8 else 0 if query.get("prompt") == "login" else None,
        tuple(query.get("acr_values", "").split()),
    )


def answer_url(redirect_uri: str, state: str | None, **fields: str) -> str:
    """The redirect address with the answer in its query."""
    query = {**fields, **({"state": state} if state is not None else {})}
    separator = "&" if "?" in redirect_uri else "?"
    return f"{redirect_uri}{separator}{urlencode(query)}"
