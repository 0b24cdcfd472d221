"""Operations on claims: list, show, settle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NotRequired

from pydantic import ConfigDict, StringConstraints, with_config
from typing_extensions import TypedDict

from assent.core.claims import ClaimRecord, State
from assent.core.outcome import Refusal
from assent.core.record_scope import record_scope_of
from assent.core.shown_records import claim_as_json
from assent.people.api.fields import Limit, OneOf, PlaceInList, closed, cursor_text
from assent.people.api.operation import ApiRequest, get, post
from assent.people.api.problems import ApiProblem
from assent.pipeline.settle import settle
from assent.ports import Cursor

STATES = tuple(state.value for state in State)
PAGE = 200
MOST_LOOKED_AT = 2000
_PATH = "/api/claims"
_OPEN = (State.IN_DOUBT, State.STARTED, State.SUSPENDED)


@closed
class ClaimFilter(TypedDict, total=False):
    state: Annotated[str, OneOf((*STATES, "all"), "in_doubt"), "Only those in this state."]
    limit: Limit
    cursor: PlaceInList


@with_config(ConfigDict(extra="allow"))
class SettledResult(TypedDict):
    """A tool result; its other members are kept as they are."""

    content: list[dict[str, Any]]


@closed
class Finding(TypedDict):
    finding: Annotated[str, OneOf(("done", "not-done", "failed")), "What you found."]
    note: NotRequired[
        Annotated[
            str,
            StringConstraints(max_length=2000),
            "How you know: where you looked and what you saw. It is kept in the log.",
        ]
    ]
    result: NotRequired[
        Annotated[
            SettledResult,
            "The tool's whole result, for retries; with done or failed. Declared secrets are not kept.",
        ]
    ]


@get(_PATH, "ClaimList", ClaimFilter, who="operators: all; people: their tenant's; others: their own")
async def list_claims(request: ApiRequest) -> dict[str, Any]:
    """List claims, newest first; without a state those in doubt."""
    # Whether a lease has ended is read off each record, so pages may be short.
    now, limit, state = request.ports.now(), request.query.get("limit", 100), request.query.get("state", "in_doubt")
    found: list[ClaimRecord] = []
    place: Cursor | None = request.query.get("cursor")
    for _ in range(MOST_LOOKED_AT // PAGE):
        page = await _page(request, place, state)
        for one in page:
            place = (one.created_at, one.id)
            if state in ("all", one.state_at(now).value):
                found.append(one)
            if len(found) == limit:
                return _page_as_json(found, now, request.ports.keyed_hash, place)
        if len(page) < PAGE:
            return _page_as_json(found, now, request.ports.keyed_hash, None)
    return _page_as_json(found, now, request.ports.keyed_hash, place)


async def _page(request: ApiRequest, after: Cursor | None, state: str) -> list[ClaimRecord]:
    reach = record_scope_of(request.principal)
    stored = {"all": (), "in_doubt": _OPEN}.get(state)
    return await request.ports.store.claims(
        states=(State(state),) if stored is None else stored,
        tenant=reach.tenant,
        principal=reach.principal,
        after=after,
        limit=PAGE,
    )


def _page_as_json(
    found: list[ClaimRecord], now: float, keyed_hash: Callable[[str], str], place: Cursor | None
) -> dict[str, Any]:
    return {
        "claims": [claim_as_json(one, now, keyed_hash) for one in found],
        "next": cursor_text(place) if place is not None else None,
    }


@get(_PATH + "/{claim}", "Claim", who="as for the list", refusals=("settle.unknown",), missing="settle.unknown")
async def show_claim(request: ApiRequest) -> dict[str, Any]:
    """Show one claim."""
    name = request.names["claim"]
    record = await request.ports.store.claim_by_id(name)
    if record is None or not record_scope_of(request.principal).covers(record.tenant, record.principal):
        raise Refusal("settle.unknown", f"There is no claim {name}.")
    return claim_as_json(record, request.ports.now(), request.ports.keyed_hash)


@post(
    _PATH + "/{claim}/settle",
    "Claim",
    Finding,
    who="people with the role operator",
    refusals=("settle.not_entitled", "settle.unknown", "settle.not_in_doubt", "settle.secrets_unknown"),
    missing="settle.unknown",
    name="settle",
)
async def settle_claim(request: ApiRequest) -> dict[str, Any]:
    """Say how a claim in doubt ended, after looking. Retries with its key are answered accordingly."""
    finding, result = request.body["finding"], request.body.get("result")
    if result is not None and finding == "not-done":
        raise ApiProblem("api.invalid", "A call that was not done has no `result`; leave it out.")
    if result is not None and finding == "failed":
        result = {**result, "isError": True}
    note = str(request.body.get("note", ""))
    settled = await settle(request.principal, request.names["claim"], finding, request.ports, result, note=note)
    return claim_as_json(settled, request.ports.now(), request.ports.keyed_hash)
