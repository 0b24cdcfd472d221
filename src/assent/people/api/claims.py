"""Operations on claims: list, show, settle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assent.core.claims import ClaimRecord, State
from assent.core.outcome import Refusal
from assent.core.record_scope import record_scope_of
from assent.people.api.problems import ApiProblem
from assent.people.api.routes import LIMIT, ApiRequest, Route, Schema, choice, cursor, listed, written
from assent.pipeline.settle import settle
from assent.ports import Cursor

STATES = tuple(state.value for state in State)
PAGE = 200
MOST_LOOKED_AT = 2000
_PATH = "/api/claims"
_OPEN = (State.IN_DOUBT, State.STARTED, State.SUSPENDED)

CLAIM: Schema = {
    "type": "object",
    "description": "What is remembered of a call that may have had an effect. Times are seconds since 1970.",
    "required": [
        "id",
        "state",
        "tool",
        "tenant",
        "principal",
        "key",
        "epoch",
        "contract",
        "created_at",
        "settled_at",
        "reference",
    ],
    "properties": {
        "id": {"type": "string"},
        "state": {"type": "string", "enum": list(STATES)},
        "tool": {"type": "string"},
        "tenant": {"type": "string"},
        "principal": {"type": "string"},
        "key": {"type": ["string", "null"], "description": "The idempotency key the caller used."},
        "epoch": {"type": "integer"},
        "contract": {"type": "string", "description": "The digest of the contract it was started under."},
        "created_at": {"type": "number"},
        "settled_at": {"type": ["number", "null"]},
        "reference": {"type": "string", "description": "The name of the claim in the audit log."},
    },
}
FINDING: Schema = {
    "type": "object",
    "required": ["finding"],
    "additionalProperties": False,
    "properties": {
        "finding": {"type": "string", "enum": ["done", "not-done", "failed"], "description": "What you found."},
        "note": {
            "type": "string",
            "maxLength": 2000,
            "description": "How you know: where you looked and what you saw. It is kept in the log.",
        },
        "result": {
            "type": "object",
            "required": ["content"],
            "properties": {"content": {"type": "array", "items": {"type": "object"}}},
            "description": "The tool's whole result, for retries; with done or failed. Declared secrets are not kept.",
        },
    },
}


async def list_claims(asked: ApiRequest) -> dict[str, Any]:
    """A page of claims, newest first. Whether a lease has ended is read off each record, so pages may be short."""
    now, limit, state = asked.ports.now(), asked.query.get("limit", 100), asked.query.get("state", "in_doubt")
    found: list[ClaimRecord] = []
    place: Cursor | None = asked.query.get("cursor")
    for _ in range(MOST_LOOKED_AT // PAGE):
        page = await _page(asked, place, state)
        for one in page:
            place = (one.created_at, one.id)
            if state in ("all", one.state_at(now).value):
                found.append(one)
            if len(found) == limit:
                return _listed(found, now, asked.ports.keyed_hash, place)
        if len(page) < PAGE:
            return _listed(found, now, asked.ports.keyed_hash, None)
    return _listed(found, now, asked.ports.keyed_hash, place)


async def _page(asked: ApiRequest, after: Cursor | None, state: str) -> list[ClaimRecord]:
    reach = record_scope_of(asked.principal)
    stored = {"all": (), "in_doubt": _OPEN}.get(state)
    return await asked.ports.store.claims(
        states=(State(state),) if stored is None else stored,
        tenant=reach.tenant,
        principal=reach.principal,
        after=after,
        limit=PAGE,
    )


def _listed(
    found: list[ClaimRecord], now: float, keyed_hash: Callable[[str], str], place: Cursor | None
) -> dict[str, Any]:
    return {
        "claims": [one.as_json(now, keyed_hash) for one in found],
        "next": written(place) if place is not None else None,
    }


async def show_claim(asked: ApiRequest) -> dict[str, Any]:
    name = asked.names["claim"]
    record = await asked.ports.store.claim_by_id(name)
    if record is None or not record_scope_of(asked.principal).covers(record.tenant, record.principal):
        raise Refusal("settle.unknown", f"There is no claim {name}.")
    return record.as_json(asked.ports.now(), asked.ports.keyed_hash)


async def settle_claim(asked: ApiRequest) -> dict[str, Any]:
    finding, result = asked.body["finding"], asked.body.get("result")
    if result is not None and finding == "not-done":
        raise ApiProblem("api.invalid", "What was not done has no result; leave it out.")
    if result is not None and finding == "failed":
        result = {**result, "isError": True}
    note = str(asked.body.get("note", ""))
    settled = await settle(asked.principal, asked.names["claim"], finding, asked.ports, result, note=note)
    return settled.as_json(asked.ports.now(), asked.ports.keyed_hash)


_ONE: Schema = {"$ref": "#/components/schemas/Claim"}

ROUTES = (
    Route(
        "GET",
        _PATH,
        "list_claims",
        "List claims, newest first; without a state those in doubt.",
        "operators: all; people: their tenant's; others: their own",
        list_claims,
        listed("claims", "Claim"),
        (choice("state", "Only those in this state.", (*STATES, "all"), "in_doubt"), LIMIT, cursor()),
    ),
    Route(
        "GET",
        _PATH + "/{claim}",
        "show_claim",
        "Show one claim.",
        "as for the list",
        show_claim,
        _ONE,
        refusals=("settle.unknown",),
        missing="settle.unknown",
    ),
    Route(
        "POST",
        _PATH + "/{claim}/settle",
        "settle",
        "Say how a claim in doubt ended, after looking. Retries with its key are answered accordingly.",
        "people with the role operator",
        settle_claim,
        _ONE,
        body=FINDING,
        refusals=("settle.not_entitled", "settle.unknown", "settle.not_in_doubt", "settle.secrets_unknown"),
        missing="settle.unknown",
    ),
)
