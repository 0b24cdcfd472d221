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
async def list_connections(asked: ApiRequest) -> dict[str, Any]:
    """List the upstreams that need a connection, and whether you have one."""
    _check_person(asked.principal)
    return {"connections": [await _connection_as_json(asked, name) for name in _upstreams(asked)]}


@post("/api/connections/{upstream}/disconnect", "Connection", who=_OWN, refusals=_REFUSALS)
async def disconnect(asked: ApiRequest) -> dict[str, Any]:
    """Forget your connection to an upstream and end its token."""
    name, end = upstream_of(asked), load_feature("oauth_sign_in").disconnect
    await end(asked.state.vault, name, connection_owner(asked, name), asked.principal)
    asked.state.forget_credential(name, connection_owner(asked, name))
    return await _connection_as_json(asked, name)


@post(
    "/api/connections/{upstream}/key",
    "Connection",
    ConnectionKey,
    who=_OWN,
    refusals=_REFUSALS,
    name="keep_connection_key",
)
async def keep_key(asked: ApiRequest) -> dict[str, Any]:
    """Keep your API key for an upstream with `auth: key`."""
    name = upstream_of(asked)
    key = str(asked.body["key"]).strip()
    if asked.state.settings.upstreams[name].auth != "key":
        raise ApiProblem("api.invalid", "This upstream uses OAuth; connect it in the console.")
    if not key or not key.isascii() or not key.isprintable():
        raise ApiProblem("api.invalid", "key: use printable ASCII characters.")
    await asked.state.vault.put(name, connection_owner(asked, name), {"key": key}, by=asked.principal)
    asked.state.forget_credential(name, connection_owner(asked, name))
    return await _connection_as_json(asked, name)


def upstream_of(asked: ApiRequest) -> str:
    """The upstream that a request names, if it needs a connection."""
    _check_person(asked.principal)
    name = asked.names["upstream"]
    if name not in _upstreams(asked):
        raise ApiProblem("api.unknown", "There is no such upstream that needs a connection.")
    return name


def connection_owner(asked: ApiRequest, upstream: str) -> PersonOwner:
    """Whose connection a person may change: their own, or as an operator the shared one."""
    if asked.state.settings.upstreams[upstream].identity == "per_user":
        return owner_of(asked.principal)
    if not is_operator(asked.principal):
        raise ApiProblem("api.not_entitled", "A shared connection is made by people with the role operator.")
    return SHARED


def _check_person(principal: Principal) -> None:
    if principal.kind != "human" or principal.has_agent or principal.mode == "test":
        raise ApiProblem("api.not_entitled", "Connections belong to people.")


def _upstreams(asked: ApiRequest) -> list[str]:
    return sorted(name for name, one in asked.state.settings.upstreams.items() if one.auth is not None)


async def _connection_as_json(asked: ApiRequest, name: str) -> dict[str, Any]:
    settings = asked.state.settings.upstreams[name]
    owner = owner_of(asked.principal) if settings.identity == "per_user" else SHARED
    kept = await asked.state.vault.get(name, owner)
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
