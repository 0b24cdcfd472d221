"""Entries of the log: a list with filters, in the log's order or newest first, without payloads."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import orjson
from pydantic import StringConstraints
from typing_extensions import TypedDict

from assent.audit.activity import ActivityFilter, ActivityReader
from assent.audit.leaf import KINDS, BadEntry
from assent.audit.leaf_reader import unpack
from assent.audit.log_reader import rows_at
from assent.core.principal import Principal
from assent.core.record_scope import APPROVER, AUDITOR, OPERATOR, record_scope_of
from assent.errors import StoreError
from assent.people.api.feed import TIERS, Before, Moment, Person, moment, templates_of
from assent.people.api.fields import MOST_INDEX, Limit, OneOf, ToolName, WholeNumber, closed
from assent.people.api.operation import ApiRequest, get
from assent.people.api.problems import ApiProblem
from assent.ports import RawLogRow

PAGE = 500
MOST_LOOKED_AT = 5000
IDENTITY = frozenset({"principal", "kind", "tenant", "actors", "person"})
"""Values that say who; all others are payload, which only auditors see, one entry at a time."""
LOG_READERS = frozenset({OPERATOR, APPROVER, AUDITOR})


EntryKind = Annotated[str, StringConstraints(pattern="^[a-z_]{1,32}$")]


@closed
class EntryFilter(TypedDict, total=False):
    after: Annotated[int, WholeNumber(-1, MOST_INDEX, -1), "The place after which to begin; -1 is the beginning."]
    order: Annotated[str, OneOf(("log", "newest"), "log"), "The log's own order, or newest first."]
    before: Before
    limit: Limit
    kind: Annotated[EntryKind, f"Only entries of this kind: {', '.join(sorted(KINDS))}."]
    tool: Annotated[ToolName, "Only entries about this tool."]
    tier: Annotated[str, OneOf(TIERS), "Only entries about tools of this tier."]
    principal: Annotated[Person, "With order=newest: only entries of this caller or person."]
    since: Annotated[Moment, "With order=newest: from then on."]
    until: Annotated[Moment, "With order=newest: up to then."]


READERS = "roles operator (all), auditor and approver (their tenant's)"


@get("/api/audit", "EntryList", EntryFilter, who=READERS, refusals=("api.not_entitled",))
async def list_entries(request: ApiRequest) -> dict[str, Any]:
    """Read the log in its order, from after a place in it; or newest first."""
    check_reader(request.principal)
    if request.query.get("order") == "newest":
        return await _newest(request)
    after, limit = request.query.get("after", -1), request.query.get("limit", 100)
    found: list[dict[str, Any]] = []
    for _ in range(MOST_LOOKED_AT // PAGE):
        page = await request.ports.store.sealed(after=after, limit=PAGE)
        for row in page:
            after, one = row.index, entry_json(row)
            if _matches_query(one, request):
                found.append(one)
            if len(found) == limit:
                return {"entries": found, "next": after}
        if len(page) < PAGE:
            break
        await asyncio.sleep(0)  # a long look must not hold up calls
    return {"entries": found, "next": after}


async def _newest(request: ApiRequest) -> dict[str, Any]:
    """Entries from the end of the log. An entry without a caller of its own has the one of its intent."""
    query, ports = request.query, request.ports
    wanted = ActivityFilter(
        **{name: query[name] for name in ("tool", "tier", "principal", "kind") if name in query},
        since=moment(query.get("since"), ports.now()),
        until=moment(query.get("until"), ports.now()),
        tenant=record_scope_of(request.principal).tenant,
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


def _matches_query(one: dict[str, Any], request: ApiRequest) -> bool:
    """Entries that name no tenant, or whose values were erased, are the operators' alone."""
    tenant = record_scope_of(request.principal).tenant
    if tenant is not None and one["values"].get("tenant") != tenant:
        return False
    facts, query = one["facts"], request.query
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
