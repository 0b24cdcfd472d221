"""Changed tool definitions: what differs from the accepted one, and an operator's decision on it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired

import orjson
from annotated_types import Len
from pydantic import StringConstraints
from typing_extensions import TypedDict

from assent.core.audit import Entry, principal_values
from assent.core.definition_diff import graded_changes, worst_grade
from assent.core.document import Document
from assent.core.principal import Principal
from assent.core.record_scope import is_operator
from assent.errors import SettingsError, StoreError
from assent.gateway.operator_access import DefinitionChange
from assent.people.api.fields import UpstreamName, closed
from assent.people.api.operation import ApiRequest, get, post
from assent.people.api.problems import ApiProblem

KIND = "definition_review"
MOST_ACCEPTED = 1000
MOST_SHOWN = 1000


@closed
class DefinitionFilter(TypedDict, total=False):
    upstream: Annotated[UpstreamName, "Only those of this upstream."]


@closed
class ShownDefinition(TypedDict):
    upstream: Annotated[str, StringConstraints(max_length=40)]
    tool: Annotated[str, StringConstraints(max_length=1000)]
    digest: Annotated[str, StringConstraints(max_length=100)]


ShownDefinitions = Annotated[list[ShownDefinition], Len(1, MOST_ACCEPTED)]


@closed
class AcceptedDefinitions(TypedDict):
    accept: ShownDefinitions
    reason: NotRequired[Annotated[str, StringConstraints(max_length=500)]]


@closed
class WithheldDefinitions(TypedDict):
    keep: ShownDefinitions
    reason: Annotated[str, StringConstraints(min_length=1, max_length=500)]


_REFUSALS = ("api.not_entitled", "api.unknown", "api.conflict")


@get("/api/definitions", "DefinitionList", DefinitionFilter, who="operators", refusals=("api.not_entitled",))
async def list_definitions(request: ApiRequest) -> dict[str, Any]:
    """List tools whose definition is not the accepted one, with a graded diff."""
    check_operator(request.principal)
    upstream = request.query.get("upstream")
    found = [one for one in request.state.definition_changes() if upstream in (None, one.upstream)][:MOST_SHOWN]
    kept = await _load_kept_withheld(request)
    return {
        "definitions": [as_json(one, kept) for one in found],
        "pinned": request.state.has_lock_file(),
        "first_sight": not request.state.has_lock_file() and request.state.settings.pins_at_first_sight,
    }


@post("/api/definitions/accept", "AcceptedCount", AcceptedDefinitions, who="operators", refusals=_REFUSALS)
async def accept_definitions(request: ApiRequest) -> dict[str, Any]:
    """Accept definitions exactly as they were shown, in the lock file or in the store."""
    check_operator(request.principal)
    chosen = _find_changes(request, request.body["accept"])  # If one changed since it was shown, none is accepted.
    for one in chosen:
        if one.is_listed_twice:
            raise ApiProblem(
                "api.conflict", f"{one.upstream}:{one.change.tool} is listed twice; it cannot be accepted."
            )
    try:
        await request.state.accept_definitions(chosen, request.principal, request.body.get("reason", ""))
    except SettingsError as error:
        raise ApiProblem("api.conflict", f"The lock file: {error}.") from None
    except StoreError as error:
        raise ApiProblem("api.conflict", str(error)) from None
    for one in chosen if request.state.has_lock_file() else ():
        _note(request, "definition.accepted", one, request.body.get("reason", ""))
    await request.ports.store.flush()
    return {"accepted": len(chosen)}


@post("/api/definitions/keep", "KeptCount", WithheldDefinitions, who="operators", refusals=_REFUSALS)
async def keep_withheld(request: ApiRequest) -> dict[str, Any]:
    """Keep definitions withheld exactly as they are now, with a reason."""
    check_operator(request.principal)
    chosen, reason, now = (
        _find_changes(request, request.body["keep"]),
        request.body["reason"].strip(),
        request.ports.now(),
    )
    if not reason:
        raise ApiProblem("api.invalid", "reason: say why it stays withheld.")
    for one in chosen:
        body = {"digest": one.digest, "by": request.principal.id, "at": now, "reason": reason}
        await request.ports.store.put_document(Document(KIND, _id(one), orjson.dumps(body)), now)
        _note(request, "definition.kept_withheld", one, reason)
    await request.ports.store.flush()
    return {"kept": len(chosen)}


def _find_changes(request: ApiRequest, wanted: Sequence[Mapping[str, str]]) -> list[DefinitionChange]:
    """The changes that are meant, each as it was shown."""
    there = {(one.upstream, one.change.tool): one for one in request.state.definition_changes()}
    found = list[DefinitionChange]()
    for one in wanted:
        change = there.get((one["upstream"], one["tool"]))
        if change is None:
            raise ApiProblem("api.unknown", f"{one['upstream']}:{one['tool']} has no change to decide on.")
        if change.digest != one["digest"]:  # the server changed it after the person read it
            what = f"The definition of {one['upstream']}:{one['tool']} changed while you looked. Nothing was decided."
            raise ApiProblem("api.conflict", what)
        if change not in found:
            found.append(change)
    return found


async def _load_kept_withheld(request: ApiRequest) -> dict[str, dict[str, Any]]:
    documents = await request.ports.store.documents(KIND, request.ports.now(), limit=10_000)
    return {one.id: orjson.loads(one.body) for one in documents}


def _note(request: ApiRequest, event: str, one: DefinitionChange, reason: str) -> None:
    facts = {"event": event, "upstream": one.upstream, **({"definition": one.digest} if one.digest else {})}
    values = {**principal_values(request.principal), "tool": one.change.tool, "reason": reason}
    request.ports.store.append(Entry("operator", request.ports.now(), facts, values))


def _id(one: DefinitionChange) -> str:
    return hashlib.sha256(f"{one.upstream}\0{one.change.tool}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def as_json(one: DefinitionChange, kept: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    changes = graded_changes(one.before, one.after)
    review = kept.get(_id(one))
    return {
        "upstream": one.upstream,
        "tool": one.change.tool,
        "name": one.name,
        "kind": one.change.kind,
        "digest": one.digest,
        "grade": worst_grade(changes),
        "changes": [{"grade": c.grade, "at": c.at, "before": c.before, "after": c.after} for c in changes],
        "attacks": list(one.attacks),
        "withheld": one.is_withheld,
        "listed_twice": one.is_listed_twice,
        "kept": review if review is not None and review["digest"] == one.digest else None,
    }


def check_operator(principal: Principal) -> None:
    if not is_operator(principal) or principal.mode == "test":
        raise ApiProblem("api.not_entitled", "Definitions are decided on by people with the role operator.")
