"""Connections: the accounts that people lend to the gateway for upstreams with `auth:`."""

from __future__ import annotations

from typing import Any

from assent.core.principal import Principal
from assent.core.record_scope import is_operator
from assent.features import load_feature
from assent.people.api.problems import ApiProblem
from assent.people.api.routes import ApiRequest, Route, Schema
from assent.upstreams.credentials import SHARED, PersonOwner, owner_of

MOST_KEY = 8192

CONNECTION: Schema = {
    "type": "object",
    "description": "An upstream that needs a connection, and whether there is one. Tokens and keys are never shown.",
    "required": ["upstream", "auth", "identity", "connected", "exchange", "scopes", "since", "expires_at"],
    "properties": {
        "upstream": {"type": "string"},
        "auth": {"type": "string", "enum": ["oauth", "key"]},
        "identity": {"type": "string", "enum": ["shared", "per_user"]},
        "connected": {"type": "boolean"},
        "exchange": {"type": "boolean", "description": "Whether callers with a token need no connection."},
        "scopes": {"type": "array", "items": {"type": "string"}},
        "since": {"type": ["number", "null"], "description": "Seconds since 1970."},
        "expires_at": {"type": ["number", "null"], "description": "When it ends; null if it is renewed by itself."},
    },
}


async def list_connections(asked: ApiRequest) -> dict[str, Any]:
    """Every upstream with `auth:`, and the caller's own connection to it; operators see the shared ones."""
    _check_person(asked.principal)
    return {"connections": [await _shown(asked, name) for name in _upstreams(asked)]}


async def disconnect(asked: ApiRequest) -> dict[str, Any]:
    """Forget a connection and end its token at the authorization server."""
    name, end = upstream_of(asked), load_feature("oauth_sign_in").disconnect
    await end(asked.state.vault, name, connection_owner(asked, name), asked.principal)
    asked.state.forget_credential(name, connection_owner(asked, name))
    return await _shown(asked, name)


async def keep_key(asked: ApiRequest) -> dict[str, Any]:
    """Keep the caller's API key for an upstream with `auth: key`."""
    name = upstream_of(asked)
    key = str(asked.body["key"]).strip()
    if asked.state.settings.upstreams[name].auth != "key":
        raise ApiProblem("api.invalid", "This upstream uses OAuth; connect it in the console.")
    if not key or not key.isascii() or not key.isprintable():
        raise ApiProblem("api.invalid", "key: use printable ASCII characters.")
    await asked.state.vault.put(name, connection_owner(asked, name), {"key": key}, by=asked.principal)
    asked.state.forget_credential(name, connection_owner(asked, name))
    return await _shown(asked, name)


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


async def _shown(asked: ApiRequest, name: str) -> dict[str, Any]:
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


_ONE: Schema = {"$ref": "#/components/schemas/Connection"}

ROUTES = (
    Route(
        "GET",
        "/api/connections",
        "list_connections",
        "List the upstreams that need a connection, and whether you have one.",
        "people: their own",
        list_connections,
        {
            "type": "object",
            "required": ["connections"],
            "properties": {"connections": {"type": "array", "items": _ONE}},
        },
        refusals=("api.not_entitled",),
    ),
    Route(
        "POST",
        "/api/connections/{upstream}/disconnect",
        "disconnect",
        "Forget your connection to an upstream and end its token.",
        "people: their own; operators: the shared ones",
        disconnect,
        _ONE,
        body={"type": "object", "additionalProperties": False},
        refusals=("api.not_entitled", "api.unknown"),
    ),
    Route(
        "POST",
        "/api/connections/{upstream}/key",
        "keep_connection_key",
        "Keep your API key for an upstream with `auth: key`.",
        "people: their own; operators: the shared ones",
        keep_key,
        _ONE,
        body={
            "type": "object",
            "required": ["key"],
            "properties": {"key": {"type": "string", "minLength": 1, "maxLength": MOST_KEY}},
            "additionalProperties": False,
        },
        refusals=("api.not_entitled", "api.unknown"),
    ),
)
