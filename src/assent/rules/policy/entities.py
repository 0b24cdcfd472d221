"""Principals, tools, resources and prompts as Cedar entities, and the context of a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from assent.core.principal import Principal
from assent.core.tool import Tool
from assent.rules.policy.schema import NAMESPACE, PRINCIPAL_TYPES

Uid = dict[str, str]


def uid(kind: str, name: str) -> Uid:
    return {"type": f"{NAMESPACE}::{kind}", "id": name}


def principal_uid(principal: Principal) -> Uid:
    return uid(PRINCIPAL_TYPES[principal.kind], principal.id)


def principal_entity(principal: Principal) -> dict[str, Any]:
    """A principal with its groups, roles, scopes, claims and chain of actors."""
    chain = list(_chain(principal))
    attributes = {
        "id": principal.id,
        "tenant": principal.tenant,
        "roles": sorted(principal.roles),
        "groups": sorted(principal.groups),
        "scopes": sorted(principal.scopes),
        "has_agent": principal.has_agent,
        "actors": sorted({actor.id for actor in chain}),
        "actor_kinds": sorted({actor.kind for actor in chain}),
    }
    parents = [uid("Group", one) for one in sorted(principal.groups)] + [
        uid("Role", one) for one in sorted(principal.roles)
    ]
    tags = {name: sorted(values) for name, values in principal.claims}
    return {"uid": principal_uid(principal), "attrs": attributes, "parents": parents, "tags": tags}


def _chain(principal: Principal) -> Iterable[Principal]:
    for actor in principal.actors:
        yield actor
        yield from _chain(actor)


def tool_entities(tool: Tool) -> list[dict[str, Any]]:
    """A tool as resource and as action; the action is a member of its tier."""
    contract, tier = tool.contract, tool.contract.side_effect.value
    attributes = {
        "name": tool.name,
        "tier": tier,
        "risk": contract.risk.number,
        "upstream": tool.upstream,
        "permissions": list(contract.permissions),
        "open_world": tool.open_world,
        "overwrites": contract.overwrites,
        "autonomous": contract.autonomous,
        "confirmation": contract.confirmation.by,
        "visibility": tool.visibility,
        **contract.labels.model_dump(exclude_none=True),
    }
    if contract.category is not None:
        attributes["category"] = contract.category
    groups = [uid("Action", tier)] if tier != tool.name else []
    return [
        {"uid": uid("Tool", tool.name), "attrs": attributes, "parents": [uid("Upstream", tool.upstream)]},
        {"uid": uid("Action", tool.name), "attrs": {}, "parents": groups},
    ]


def other_entity(kind: str, name: str, upstream: str | None) -> dict[str, Any]:
    """A resource by its URI, or a prompt by its name."""
    attributes = {"uri" if kind == "Resource" else "name": name}
    if upstream is not None:
        attributes["upstream"] = upstream
    parents = [uid("Upstream", upstream)] if upstream is not None else []
    return {"uid": uid(kind, name), "attrs": attributes, "parents": parents}


def context_of(principal: Principal, now: float, needed: frozenset[str]) -> dict[str, Any]:
    """The parts of the context that policies read, besides arguments."""
    found: dict[str, Any] = {"tenant": principal.tenant, "mode": principal.mode}
    if "authentication" in needed:
        found["authentication"] = _authentication(principal, now)
    if "time" in needed:
        found["time"] = _time(now)
    return found


def _authentication(principal: Principal, now: float) -> dict[str, Any]:
    known: dict[str, Any] = {"method": principal.method}
    if principal.acr is not None:
        known["acr"] = principal.acr
    if principal.auth_time is not None:
        known["age"] = max(0, int(now - principal.auth_time))
    return known


def _time(now: float) -> Mapping[str, Any]:
    at = datetime.fromtimestamp(now, UTC)
    return {
        "now": {"__extn": {"fn": "datetime", "arg": at.strftime("%Y-%m-%dT%H:%M:%SZ")}},
        "date": at.strftime("%Y-%m-%d"),
        "hour": at.hour,
        "weekday": at.isoweekday(),
    }
