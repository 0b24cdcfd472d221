"""Connections: the accounts that people lend to the gateway for upstreams with `auth:`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import StringConstraints
from typing_extensions import TypedDict

from assent.core.principal import Principal
from assent.core.record_scope import is_operator
from assent.features import load_feature
from assent.people.api.fields import closed
from assent.people.api.operation import ApiRequest, get, post
from assent.people.api.problems import ApiProblem
from assent.upstreams.credentials import SHARED, PersonOwner, owner_of

MOST_KEY = 8192


@closed
class ConnectionKey(TypedDict):
    key: Annotated[str, StringConstraints(min_length=1, max_length=MOST_KEY)]


_OWN = "people: their own; operators: the shared ones"
_REFUSALS = ("api.not_entitled", "api.unknown")


@get("/api/connections", "ConnectionList", who="people: their own", refusals=("api.not_entitled",))
async def list_connections(request: ApiRequest) -> dict[str, Any]:
    """List the upstreams that need a connection, and whether you have one."""
    _check_person(request.principal)
    return {"connections": [await _connection_as_json(request, name) for name in _upstreams(request)]}


@post("/api/connections/{upstream}/disconnect", "Connection", who=_OWN, refusals=_REFUSALS)
async def disconnect(request: ApiRequest) -> dict[str, Any]:
    """Forget your connection to an upstream and end its token."""
    name, end = upstream_of(request), load_feature("oauth_sign_in").disconnect
    await end(request.state.vault, name, connection_owner(request, name), request.principal)
    request.state.forget_credential(name, connection_owner(request, name))
    return await _connection_as_json(request, name)


@post(
    "/api/connections/{upstream}/key",
    "Connection",
    ConnectionKey,
    who=_OWN,
    refusals=_REFUSALS,
    name="keep_connection_key",
)
async def keep_key(request: ApiRequest) -> dict[str, Any]:
    """Keep your API key for an upstream with `auth: key`."""
    name = upstream_of(request)
    key = str(request.body["key"]).strip()
    if request.state.settings.upstreams[name].auth != "key":
        raise ApiProblem("api.invalid", "This upstream uses OAuth; connect it in the console.")
    if not key or not key.isascii() or not key.isprintable():
        raise ApiProblem("api.invalid", "key: use printable ASCII characters.")
    await request.state.vault.put(name, connection_owner(request, name), {"key": key}, by=request.principal)
    request.state.forget_credential(name, connection_owner(request, name))
    return await _connection_as_json(request, name)


def upstream_of(request: ApiRequest) -> str:
    """The upstream that a request names, if it needs a connection."""
    _check_person(request.principal)
    name = request.names["upstream"]
    if name not in _upstreams(request):
        raise ApiProblem("api.unknown", "There is no such upstream that needs a connection.")
    return name


def connection_owner(request: ApiRequest, upstream: str) -> PersonOwner:
    """Whose connection a person may change: their own, or as an operator the shared one."""
    if request.state.settings.upstreams[upstream].identity == "per_user":
        return owner_of(request.principal)
    if not is_operator(request.principal):
        raise ApiProblem("api.not_entitled", "A shared connection is made by people with the role operator.")
    return SHARED


def _check_person(principal: Principal) -> None:
    if principal.kind != "human" or principal.has_agent or principal.mode == "test":
        raise ApiProblem("api.not_entitled", "Connections belong to people.")


def _upstreams(request: ApiRequest) -> list[str]:
    return sorted(name for name, one in request.state.settings.upstreams.items() if one.auth is not None)


async def _connection_as_json(request: ApiRequest, name: str) -> dict[str, Any]:
    settings = request.state.settings.upstreams[name]
    owner = owner_of(request.principal) if settings.identity == "per_user" else SHARED
    kept = await request.state.vault.get(name, owner)
    fields = kept.fields if kept is not None else {}
    return {
        "upstream": name,
        "auth": settings.auth,
        "identity": settings.identity,
        "connected": kept is not None,
        "exchange": settings.oauth.exchange is not None,
        "scopes": str(fields.get("scope") or "").split(),
        "since": kept.updated_at if kept is not None else None,
        "expires_at": None if fields.get("refresh_token") else fields.get("expires_at"),
    }
