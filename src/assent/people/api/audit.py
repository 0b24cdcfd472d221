"""Entries of the log: a list with filters, in the log's order or newest first, without payloads."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson

from assent.audit.activity import ActivityFilter, ActivityReader
from assent.audit.leaf import KINDS, BadEntry, unpack
from assent.audit.log_reader import rows_at
from assent.core.principal import Principal
from assent.core.record_scope import APPROVER, AUDITOR, OPERATOR, record_scope_of
from assent.errors import StoreError
from assent.people.api.feed import BEFORE, TIERS, moment, templates_of, time_parameter
from assent.people.api.problems import ApiProblem
from assent.people.api.routes import LIMIT, MOST_INDEX, NAME, ApiRequest, Route, Schema, choice, integer, text
from assent.ports import RawLogRow

PAGE = 500
MOST_LOOKED_AT = 5000
KIND = "[a-z_]{1,32}"
IDENTITY = frozenset({"principal", "kind", "tenant", "actors", "person"})
"""Values that say who; all others are payload, which only auditors see, one entry at a time."""
LOG_READERS = frozenset({OPERATOR, APPROVER, AUDITOR})

ENTRY: Schema = {
    "type": "object",
    "description": "One entry of the log: facts that are proved, and who it was.",
    "required": ["index", "kind", "at", "facts", "values", "withheld", "erased"],
    "properties": {
        "index": {"type": "integer"},
        "kind": {"type": "string"},
        "at": {"type": "number", "description": "Seconds since 1970."},
        "facts": {"type": "object"},
        "values": {"type": "object", "description": "Who it was. Other values are in `withheld`."},
        "withheld": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Names of values that auditors can look at, one entry at a time.",
        },
        "erased": {"type": "array", "items": {"type": "string"}, "description": "Names of values that were erased."},
        "text": {"type": "string", "description": "What the entry says, as a sentence; only with order=newest."},
        "who": {
            "type": ["string", "null"],
            "description": "Who began the call the entry is about; only with order=newest.",
        },
    },
}


async def list_entries(asked: ApiRequest) -> dict[str, Any]:
    """A page of entries; it ends when enough were found or looked at."""
    check_reader(asked.principal)
    if asked.query.get("order") == "newest":
        return await _newest(asked)
    after, limit = asked.query.get("after", -1), asked.query.get("limit", 100)
    found: list[dict[str, Any]] = []
    for _ in range(MOST_LOOKED_AT // PAGE):
        page = await asked.ports.store.sealed(after=after, limit=PAGE)
        for row in page:
            after, one = row.index, entry_json(row)
            if _wanted(one, asked):
                found.append(one)
            if len(found) == limit:
                return {"entries": found, "next": after}
        if len(page) < PAGE:
            break
        await asyncio.sleep(0)  # a long look must not hold up calls
    return {"entries": found, "next": after}


async def _newest(asked: ApiRequest) -> dict[str, Any]:
    """Entries from the end of the log. An entry without a caller of its own has the one of its intent."""
    query, ports = asked.query, asked.ports
    wanted = ActivityFilter(
        **{name: query[name] for name in ("tool", "tier", "principal", "kind") if name in query},
        since=moment(query.get("since"), "since", ports.now()),
        until=moment(query.get("until"), "until", ports.now()),
        tenant=record_scope_of(asked.principal).tenant,
        every=True,
    )
    reader = ActivityReader(ports.store, wanted, templates_of(ports.catalogue()), int(query.get("limit", 100)))
    page = await reader.page(query.get("before"))
    rows = await rows_at(ports.store, (line.index for line in page.lines))
    entries = [
        {**entry_json(rows[line.index]), "text": line.text, "who": line.who}
        for line in page.lines
        if line.index in rows
    ]
    return {"entries": entries, "next": -1 if page.next is None else page.next}


def check_reader(principal: Principal) -> None:
    if principal.has_agent or not principal.roles & LOG_READERS:
        raise ApiProblem("api.not_entitled", "The log is for people with the role operator, auditor or approver.")


def _wanted(one: dict[str, Any], asked: ApiRequest) -> bool:
    """Entries that name no tenant, or whose values were erased, are the operators' alone."""
    tenant = record_scope_of(asked.principal).tenant
    if tenant is not None and one["values"].get("tenant") != tenant:
        return False
    facts, query = one["facts"], asked.query
    return all(
        query.get(name) in (None, have)
        for name, have in (("kind", one["kind"]), ("tool", facts.get("tool")), ("tier", facts.get("tier")))
    )


def entry_json(row: RawLogRow, *, payload: bool = False) -> dict[str, Any]:
    """An entry with the values that say who; with `payload` all of them."""
    try:
        said, values = orjson.loads(row.leaf), unpack(row.vals)[0]
        shown = {name: orjson.loads(value) for name, value in values.items() if payload or name in IDENTITY}
        at, facts, recorded = said["at"] / 1000, said["facts"], set(said["commitments"])
    except (BadEntry, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"Entry {row.index} of the log was altered; `assent audit verify` says how.") from error
    return {
        "index": row.index,
        "kind": said["kind"],
        "at": at,
        "facts": facts,
        "values": shown,
        "withheld": sorted(values.keys() - shown.keys()),
        "erased": sorted(recorded - values.keys()),
    }


ROUTES = (
    Route(
        "GET",
        "/api/audit",
        "list_entries",
        "Read the log in its order, from after a place in it; or newest first.",
        "roles operator (all), auditor and approver (their tenant's)",
        list_entries,
        {
            "type": "object",
            "required": ["entries", "next"],
            "properties": {
                "entries": {"type": "array", "items": {"$ref": "#/components/schemas/Entry"}},
                "next": {
                    "type": "integer",
                    "description": "What `after` is for the next page, now or later; with order=newest what `before` "
                    "is, and -1 when there is no further page.",
                },
            },
        },
        (
            integer("after", "The place after which to begin; -1 is the beginning.", -1, MOST_INDEX, -1),
            choice("order", "The log's own order, or newest first.", ("log", "newest"), "log"),
            BEFORE,
            LIMIT,
            text("kind", f"Only entries of this kind: {', '.join(sorted(KINDS))}.", KIND),
            text("tool", "Only entries about this tool.", NAME),
            choice("tier", "Only entries about tools of this tier.", TIERS),
            text("principal", "With order=newest: only entries of this caller or person.", r"[^\x00-\x1f]{1,256}"),
            time_parameter("since", "With order=newest: from then on"),
            time_parameter("until", "With order=newest: up to then"),
        ),
        refusals=("api.not_entitled",),
    ),
)
