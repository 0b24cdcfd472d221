"""One entry of the log with its proof; its payload, for auditors; and the state of the whole log."""

from __future__ import annotations

import hashlib
from typing import Any

from assent.audit.activity import ActivityFilter, ActivityLine, ActivityReader
from assent.audit.leaf import BadEntry
from assent.audit.leaf_reader import check, unpack
from assent.core.audit import Entry, principal_values
from assent.core.document import Document
from assent.core.principal import Principal
from assent.core.record_scope import AUDITOR, OPERATOR, is_operator, record_scope_of
from assent.people.api.audit import READERS, check_reader, entry_json
from assent.people.api.feed import templates_of
from assent.people.api.fields import MOST_INDEX
from assent.people.api.operation import ApiRequest, get, post
from assent.people.api.problems import ApiProblem
from assent.ports import RawLogRow

LOOK_LASTS = 300.0
"""Seconds for which an auditor who looked at values sees them without another entry."""
_LOOK, _BUNDLE = "audit_look", "bundle"
UNSIGNED = "This log is not signed. A gateway on a file or a database signs it."
_NO_EVIDENCE = {"state": "no_log", "leaf_hash": ""}


_REFUSALS = ("api.not_entitled", "api.unknown")


@get("/api/audit/{entry}", "WholeEntry", who=READERS, refusals=_REFUSALS)
async def show_entry(request: ApiRequest) -> dict[str, Any]:
    """Show one entry with its proof."""
    # Payload is shown to an auditor who asked for it in the last five minutes.
    row, line = await _find_entry(request)
    looked = await _has_looked(request, str(row.index))
    proof = request.ports.evidence
    return {
        **entry_json(row, payload=looked),
        "text": line.text,
        "who": line.who,
        "wrong": _wrong(row),
        "leaf": row.leaf.decode("utf-8", "replace"),
        "looked": looked,
        "evidence": _NO_EVIDENCE if proof is None else await proof.prove(row.index, row.leaf),
    }


@post(
    "/api/audit/{entry}/values",
    "WholeEntry",
    who="people with the role auditor (their tenant's; with the role operator: all)",
    refusals=_REFUSALS,
)
async def read_values(request: ApiRequest) -> dict[str, Any]:
    """Show all values of an entry. Each look is itself an entry."""
    row, _ = await _find_entry(request)
    if not may_look(request.principal):
        facts = {"action": "look", "entry": row.index, "code": "api.not_entitled"}
        request.ports.store.append(Entry("denial", request.ports.now(), facts, principal_values(request.principal)))
        raise ApiProblem("api.not_entitled", "Values are for people with the role auditor.")
    facts = {"action": "look", "entry": row.index}
    if fields := entry_json(row)["withheld"]:
        facts["fields"] = fields
    await _write_look(request, str(row.index), facts)
    return await show_entry(request)


@get("/api/audit/status", "LogStatus", who=READERS, refusals=("api.not_entitled",), name="audit_status")
async def show_status(request: ApiRequest) -> dict[str, Any]:
    """Show the newest checkpoint, the anchors and the last verification."""
    check_reader(request.principal)
    if request.ports.evidence is None:
        nothing: dict[str, Any] = {"checkpoint": None, "verification": None, "anchors": [], "unsigned": 0}
        return {**nothing, "verifying": False, "length": await request.ports.store.length(), "trouble": UNSIGNED}
    return await request.ports.evidence.status()


@post("/api/audit/verify", "VerificationStart", who="roles operator and auditor", refusals=_REFUSALS)
async def verify_log(request: ApiRequest) -> dict[str, Any]:
    """Begin to check the whole log. The result is in the status when it is done."""
    if request.principal.has_agent or not request.principal.roles & {OPERATOR, AUDITOR}:
        raise ApiProblem("api.not_entitled", "A verification is for people with the role operator or auditor.")
    if request.ports.evidence is None:
        raise ApiProblem("api.unknown", UNSIGNED)
    return {"begun": request.ports.evidence.verify(request.principal)}


async def ask_for_values_bundle(request: ApiRequest) -> dict[str, Any]:
    """Write down that somebody takes all values; for five minutes they may download them."""
    if not (may_look(request.principal) and is_operator(request.principal)):
        raise ApiProblem("api.not_entitled", _WHOLE_VALUES)
    await _write_look(request, _BUNDLE, {"action": "look", "count": await request.ports.store.length()})
    return {"lasts": LOOK_LASTS}


async def check_bundle(request: ApiRequest, *, values: bool) -> None:
    """Raise unless this person may download the whole log, with values only after they asked for them."""
    if not is_operator(request.principal):
        raise ApiProblem("api.not_entitled", _WHOLE)
    if values and not await _has_looked(request, _BUNDLE):
        raise ApiProblem("api.not_entitled", _WHOLE_VALUES)


_WHOLE = "The bundle is the whole log of all tenants: it needs the role operator. One entry's proof needs less."
_WHOLE_VALUES = "All values of all tenants need the roles operator and auditor, and a look that is written down first."


def may_look(principal: Principal) -> bool:
    return AUDITOR in principal.roles and principal.kind == "human" and not principal.has_agent


async def _find_entry(request: ApiRequest) -> tuple[RawLogRow, ActivityLine]:
    """The entry with its line, if it is this person's to see; another tenant's is as unknown as none."""
    check_reader(request.principal)
    name = request.names["entry"]
    index = int(name) if name.isascii() and name.isdigit() and len(name) < 17 else MOST_INDEX
    rows = await request.ports.store.sealed(after=index - 1, limit=1)
    wanted = ActivityFilter(tenant=record_scope_of(request.principal).tenant, every=True)
    if rows and rows[0].index == index:
        reader = ActivityReader(request.ports.store, wanted, templates_of(request.ports.catalogue()), 1)
        if line := await reader.find_line(index):
            return rows[0], line
    raise ApiProblem("api.unknown", "There is no such entry.")


def _wrong(row: RawLogRow) -> list[str]:
    try:
        return check(row.leaf, *unpack(row.vals))
    except BadEntry as error:
        return [str(error)]


def _look_id(principal: Principal, what: str) -> str:
    who = hashlib.sha256(repr((principal.tenant, principal.id)).encode()).hexdigest()[:32]
    return f"{what}-{who}"


async def _has_looked(request: ApiRequest, what: str) -> bool:
    if not may_look(request.principal):
        return False
    return await request.ports.store.document(_LOOK, _look_id(request.principal, what), request.ports.now()) is not None


async def _write_look(request: ApiRequest, what: str, facts: dict[str, Any]) -> None:
    now = request.ports.now()
    entry = Entry("operator", now, facts, principal_values(request.principal))
    look = Document(
        _LOOK, _look_id(request.principal, what), b"{}", request.principal.tenant, expires_at=now + LOOK_LASTS
    )
    await request.ports.store.put_document(look, now, entry=entry)
