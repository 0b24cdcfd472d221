"""One operation from question to outcome: every entry about one claim or approval, in the order it happened."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import orjson

from assent.audit.activity import ActivityFilter, ActivityLine, ActivityReader
from assent.audit.backwards import first_at, pieces_back
from assent.core.approval import Approval
from assent.core.claims import ClaimRecord
from assent.core.record_scope import record_scope_of
from assent.gateway.api import approvals, claims
from assent.gateway.api.feed import templates_of
from assent.gateway.api.problems import ApiProblem
from assent.gateway.api.routes import MOST_INDEX, ApiRequest, Route, Schema, integer

MOST_LOOKED_AT = 100_000
MOST_ENTRIES = 200
AFTER = 20_000
"""How far after a known entry of the operation others are looked for."""
CLOCK_SLACK = 60.0

OPERATION: Schema = {
    "type": "object",
    "description": "What happened to one call, from the question to the outcome.",
    "required": ["reference", "tool", "tier", "risk", "state", "who", "entries", "approval", "claim", "complete"],
    "properties": {
        "reference": {"type": "string"},
        "tool": {"type": ["string", "null"]},
        "tier": {"type": ["string", "null"]},
        "risk": {"type": ["string", "null"]},
        "state": {"type": "string", "description": "What the last entry says happened."},
        "who": {"type": ["string", "null"]},
        "entries": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["index", "kind", "at", "text", "who", "facts"],
                "properties": {"index": {"type": "integer"}, "at": {"type": "number"}},
            },
        },
        "approval": {"anyOf": [{"$ref": "#/components/schemas/Approval"}, {"type": "null"}]},
        "claim": {"anyOf": [{"$ref": "#/components/schemas/Claim"}, {"type": "null"}]},
        "complete": {"type": "boolean", "description": "False where not all of the log could be looked through."},
    },
}


async def show_operation(asked: ApiRequest) -> dict[str, Any]:
    """The operation of a claim (by id or reference) or of an approval (by id)."""
    scope, ports, name = record_scope_of(asked.principal), asked.ports, asked.names["operation"]
    if scope.principal is not None:
        raise ApiProblem("api.not_entitled", "Operations are for people, and for programs with the role operator.")
    claim, approval = await ports.store.recall(name), await ports.store.approval(name)
    reference = ports.keyed_hash(claim.id) if claim is not None else name
    found, complete = await _entries(asked, reference, _began(claim, approval))
    approval = approval or await _approval_in(asked, found)
    reader = ActivityReader(ports.store, ActivityFilter(every=True), templates_of(ports.catalogue()), MOST_ENTRIES + 1)
    lines = (await reader.these(found[:MOST_ENTRIES]))[::-1]
    if not lines and claim is None and approval is None:
        raise _unknown()
    _check_scope(scope.tenant, lines, claim, approval)
    return _told(asked, reference, lines, claim, approval, complete and len(found) <= MOST_ENTRIES)


def _began(claim: ClaimRecord | None, approval: Approval | None) -> float | None:
    """When the operation began, as far as its records say."""
    if claim is not None:
        return None if claim.key is None else claim.created_at - CLOCK_SLACK
    return None if approval is None else approval.asked_at - CLOCK_SLACK


async def _entries(asked: ApiRequest, reference: str, began: float | None) -> tuple[list[tuple[int, bytes]], bool]:
    """The entries that name the reference, or an approval or claim that those name; newest first."""
    store = asked.ports.store
    length = await store.length()
    near = asked.query.get("near")
    start = length if near is None else min(length, near + AFTER)
    stop = max(0, start - MOST_LOOKED_AT)
    if began is not None:
        stop = max(stop, await first_at(store, int(began * 1000), length))
    found = await _naming(asked, {reference}, start, stop)
    more = {name for _, leaf in found for name in _names(leaf)} - {reference}
    if more:
        earliest = max(0, start - MOST_LOOKED_AT)
        asked_at = [one.asked_at for name in more if (one := await store.approval(name)) is not None]
        if asked_at:
            earliest = max(earliest, await first_at(store, int((min(asked_at) - CLOCK_SLACK) * 1000), length))
        found = await _naming(asked, {reference, *more}, start, min(earliest, stop) if asked_at else earliest)
    return found, start == length and (stop == 0 or began is not None)


async def _naming(asked: ApiRequest, names: Collection[str], start: int, stop: int) -> list[tuple[int, bytes]]:
    needles = [orjson.dumps({field: name})[1:-1] for field in ("claim", "approval") for name in names]
    found: list[tuple[int, bytes]] = []
    async for piece in pieces_back(asked.ports.store, start, stop):
        found += [(index, leaf) for index, leaf in piece if any(needle in leaf for needle in needles)]
        if len(found) > MOST_ENTRIES:
            break
    return found


def _names(leaf: bytes) -> list[str]:
    """The approval and, of an entry that used one, the claim it names."""
    facts = orjson.loads(leaf)["facts"]
    return [facts[name] for name in ("approval", "claim") if name in facts]


async def _approval_in(asked: ApiRequest, found: list[tuple[int, bytes]]) -> Approval | None:
    for _, leaf in found:
        if name := orjson.loads(leaf)["facts"].get("approval"):
            return await asked.ports.store.approval(name)
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


def _told(
    asked: ApiRequest,
    reference: str,
    lines: list[ActivityLine],
    claim: ClaimRecord | None,
    approval: Approval | None,
    complete: bool,
) -> dict[str, Any]:
    now = asked.ports.now()
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
        "approval": None if approval is None else approvals.as_json(approval, asked.principal, now),
        "claim": None if claim is None else claims.as_json(claim, now, asked.ports.keyed_hash),
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


ROUTES = (
    Route(
        "GET",
        "/api/operations/{operation}",
        "show_operation",
        "Tell one operation from question to outcome, by the id of its approval, or the id or reference of its claim.",
        "operators: all; people: their tenant's",
        show_operation,
        {"$ref": "#/components/schemas/Operation"},
        (integer("near", "The place of an entry of the operation, where it is known.", 0, MOST_INDEX, 0),),
        refusals=("api.not_entitled", "api.unknown"),
    ),
)
