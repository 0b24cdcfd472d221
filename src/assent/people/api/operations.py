"""One operation from question to outcome: every entry about one claim or approval, in the order it happened."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any

import orjson
from typing_extensions import TypedDict

from assent.audit.activity import ActivityFilter, ActivityLine, ActivityReader
from assent.audit.log_reader import first_at, holding, kind_of, pieces_back
from assent.core.approval import Approval
from assent.core.claims import ClaimRecord
from assent.core.record_scope import record_scope_of
from assent.core.shown_records import claim_as_json
from assent.people.api import approvals
from assent.people.api.feed import templates_of
from assent.people.api.fields import MOST_INDEX, WholeNumber, closed
from assent.people.api.operation import ApiRequest, get
from assent.people.api.problems import ApiProblem

MOST_LOOKED_AT = 50_000
MOST_ENTRIES = 200
AROUND = 15_000
"""How far from a known entry of the operation others are looked for."""
CLOCK_SLACK = 60.0


@closed
class OperationFilter(TypedDict, total=False):
    near: Annotated[int, WholeNumber(0, MOST_INDEX, 0), "The place of an entry of the operation, if it is known."]


@get(
    "/api/operations/{operation}",
    "Operation",
    OperationFilter,
    who="operators: all; people: their tenant's",
    refusals=("api.not_entitled", "api.unknown"),
)
async def show_operation(request: ApiRequest) -> dict[str, Any]:
    """Show one operation from question to outcome, by the id of its approval, or the id or reference of its claim."""
    scope, ports, name = record_scope_of(request.principal), request.ports, request.names["operation"]
    if scope.principal is not None:
        raise ApiProblem("api.not_entitled", "Operations are for people, and for programs with the role operator.")
    claim, approval = await ports.store.claim_by_id(name), await ports.store.approval(name)
    reference = ports.keyed_hash(claim.id) if claim is not None else name
    found, complete = await _entries(request, reference, _began(claim, approval))
    approval = approval or await _approval_in(request, found)
    reader = ActivityReader(ports.store, ActivityFilter(every=True), templates_of(ports.catalogue()), MOST_ENTRIES + 1)
    lines = (await reader.these(found[:MOST_ENTRIES]))[::-1]
    if not lines and claim is None and approval is None:
        raise _unknown()
    _check_scope(scope.tenant, lines, claim, approval)
    return _operation_json(request, reference, lines, claim, approval, complete and len(found) <= MOST_ENTRIES)


def _began(claim: ClaimRecord | None, approval: Approval | None) -> float | None:
    """When the operation began, as far as its records say."""
    if claim is not None:
        return None if claim.key is None else claim.created_at - CLOCK_SLACK
    return None if approval is None else approval.asked_at - CLOCK_SLACK


async def _entries(request: ApiRequest, reference: str, began: float | None) -> tuple[list[tuple[int, bytes]], bool]:
    """The entries that name the reference, or an approval or claim that those name; newest first.

    An intent joins a claim with its approval. Read backwards, the question and the decisions come after it; what
    the claim became comes before it, and is looked for in a second pass where the search began with the approval.
    """
    store, near = request.ports.store, request.query.get("near")
    length = await store.length()
    start = length if near is None else min(length, near + AROUND)
    stop = max(0, start - (MOST_LOOKED_AT if near is None else 2 * AROUND))
    if began is not None:
        stop = await first_at(store, int(began * 1000), length)
        start = min(start if near is not None else length, stop + MOST_LOOKED_AT)
    search = _Search(request, {reference}, start)
    await search.back(stop)
    if late := search.names - {reference}:
        stop = await _asked_at(request, late, search.place)
        await search.back(stop)
        found = search.found[0][0] if search.found else start
        again = _Search(request, set(search.names), start)
        await again.back(found)
        search.found = sorted({*again.found, *search.found}, reverse=True)
    return search.found, stop == 0 or began is not None or _is_whole(search.found)


class _Search:
    """Looks for entries that name one of a growing set of names."""

    def __init__(self, request: ApiRequest, names: set[str], place: int) -> None:
        self._store, self.names, self.place = request.ports.store, names, place
        self.found: list[tuple[int, bytes]] = []

    async def back(self, stop: int) -> None:
        async for piece in pieces_back(self._store, self.place, stop):
            self._take(piece)
            self.place = piece[-1][0] if piece else stop
            if len(self.found) > MOST_ENTRIES:
                return

    def _take(self, piece: list[tuple[int, bytes]]) -> None:
        """The entries of a piece; one that brings in a name is followed by those that have it."""
        known: set[str] = set()
        found: dict[int, bytes] = {}
        while known != self.names:
            known = set(self.names)
            for name in known:
                about = holding(piece, (b':"%b"' % name.encode(),))
                found |= {index: leaf for index, leaf in about if name in _names(leaf)}
            self.names |= {name for leaf in found.values() for name in _names(leaf)}
        self.found += sorted(found.items(), reverse=True)


async def _asked_at(request: ApiRequest, names: Collection[str], place: int) -> int:
    """Where the questions with these names begin, if they are known; else no further than was looked already."""
    store = request.ports.store
    times = [one.asked_at for name in names if (one := await store.approval(name)) is not None]
    if not times:
        return place
    return min(place, await first_at(store, int((min(times) - CLOCK_SLACK) * 1000), await store.length()))


def _names(leaf: bytes) -> list[str]:
    """The approval and the claim that an entry names."""
    facts = orjson.loads(leaf)["facts"]
    return [facts[name] for name in ("approval", "claim") if name in facts]


def _is_whole(found: list[tuple[int, bytes]]) -> bool:
    """Whether the entries go from a beginning to an end."""
    kinds = {kind_of(leaf) for _, leaf in found}
    asked = any(b'"approval":"' in leaf for _, leaf in found)
    return ("approval" in kinds if asked else "intent" in kinds) and bool(kinds & {"outcome", "operator"})


async def _approval_in(request: ApiRequest, found: list[tuple[int, bytes]]) -> Approval | None:
    for _, leaf in found:
        if name := orjson.loads(leaf)["facts"].get("approval"):
            return await request.ports.store.approval(name)
    return None


def _check_scope(
    tenant: str | None, lines: list[ActivityLine], claim: ClaimRecord | None, approval: Approval | None
) -> None:
    """Another tenant's operation is as unknown as none."""
    if tenant is None:
        return
    known = {record.tenant for record in (claim, approval) if record is not None}
    known |= {line.tenant for line in lines if line.tenant is not None}
    if known != {tenant}:
        raise _unknown()


def _unknown() -> ApiProblem:
    return ApiProblem("api.unknown", "There is no such operation, or it is too far back in the log.")


def _operation_json(
    request: ApiRequest,
    reference: str,
    lines: list[ActivityLine],
    claim: ClaimRecord | None,
    approval: Approval | None,
    complete: bool,
) -> dict[str, Any]:
    now = request.ports.now()
    facts: dict[str, Any] = {}
    for line in lines:
        facts |= {name: line.facts[name] for name in ("tool", "tier", "risk") if name in line.facts}
    callers = [line.who for line in lines if line.who and line.kind not in ("decision", "operator", "settlement")]
    return {
        "reference": reference,
        **{name: facts.get(name) for name in ("tool", "tier", "risk")},
        "state": lines[-1].outcome if lines else "unknown",
        "who": next(iter(callers), approval.requester if approval is not None else None),
        "entries": [_step(line) for line in lines],
        "approval": None if approval is None else approvals.as_json(approval, request.principal, now),
        "claim": None if claim is None else claim_as_json(claim, now, request.ports.keyed_hash),
        "complete": complete,
    }


def _step(line: ActivityLine) -> dict[str, Any]:
    return {
        "index": line.index,
        "kind": line.kind,
        "at": line.at / 1000,
        "text": line.text,
        "who": line.who,
        "outcome": line.outcome,
        "facts": dict(line.facts),
    }
