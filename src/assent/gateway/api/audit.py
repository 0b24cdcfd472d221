"""What was written down?"""

from __future__ import annotations

import asyncio
from typing import Any

from assent.core.principal import Principal
from assent.core.record_scope import APPROVER, AUDITOR, OPERATOR, record_scope_of
from assent.gateway.api.problems import ApiProblem
from assent.gateway.api.routes import LIMIT, MOST_INDEX, NAME, ApiRequest, Route, Schema, integer, text
from assent.ports import LogEntry

PAGE = 500
MOST_LOOKED_AT = 5000
KIND = "[a-z_]{1,32}"
_ROLES = frozenset({OPERATOR, APPROVER, AUDITOR})

ENTRY: Schema = {
    "type": "object",
    "description": "One line of the log: facts that are proved, and values that can be erased.",
    "required": ["index", "kind", "at", "facts", "values"],
    "properties": {
        "index": {"type": "integer"},
        "kind": {"type": "string"},
        "at": {"type": "number", "description": "Seconds since 1970."},
        "facts": {"type": "object"},
        "values": {"type": "object"},
    },
}


async def list_entries(asked: ApiRequest) -> dict[str, Any]:
    """Entries after a place in the log, in its order; a page ends when enough were found or looked at."""
    _check_role(asked.principal)
    after, limit = asked.query.get("after", -1), asked.query.get("limit", 100)
    found: list[LogEntry] = []
    for _ in range(MOST_LOOKED_AT // PAGE):
        page = await asked.ports.store.entries(after=after, limit=PAGE)
        for one in page:
            after = one.index
            if _wanted(one, asked):
                found.append(one)
            if len(found) == limit:
                return _listed(found, after)
        if len(page) < PAGE:
            break
        await asyncio.sleep(0)  # a long look must not hold up calls
    return _listed(found, after)


def _check_role(principal: Principal) -> None:
    if principal.has_agent or not principal.roles & _ROLES:
        raise ApiProblem("api.not_entitled", "The log is for people with the role operator, auditor or approver.")


def _wanted(one: LogEntry, asked: ApiRequest) -> bool:
    """Entries that name no tenant, or whose values were erased, are the operators' alone."""
    tenant = record_scope_of(asked.principal).tenant
    if tenant is not None and one.entry.values.get("tenant") != tenant:
        return False
    kind, tool = asked.query.get("kind"), asked.query.get("tool")
    return kind in (None, one.entry.kind) and tool in (None, one.entry.facts.get("tool"))


def _listed(found: list[LogEntry], after: int) -> dict[str, Any]:
    return {"entries": [as_json(one) for one in found], "next": after}


def as_json(one: LogEntry) -> dict[str, Any]:
    entry = one.entry
    return {"index": one.index, "kind": entry.kind, "at": entry.at, "facts": entry.facts, "values": entry.values}


ROUTES = (
    Route(
        "GET",
        "/api/audit",
        "list_entries",
        "Read the log in its order, from after a place in it.",
        "roles operator (all), auditor and approver (their tenant's)",
        list_entries,
        {
            "type": "object",
            "required": ["entries", "next"],
            "properties": {
                "entries": {"type": "array", "items": {"$ref": "#/components/schemas/Entry"}},
                "next": {"type": "integer", "description": "What `after` is for the next page, now or later."},
            },
        },
        (
            integer("after", "The place after which to begin; -1 is the beginning.", -1, MOST_INDEX, -1),
            LIMIT,
            text("kind", "Only entries of this kind, such as intent, outcome or denial.", KIND),
            text("tool", "Only entries about this tool.", NAME),
        ),
        refusals=("api.not_entitled",),
    ),
)
