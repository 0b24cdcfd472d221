"""Several approvals of one tool at once: shown side by side, decided alike."""

from __future__ import annotations

from typing import Any

from assent.core.approval import Approval
from assent.core.outcome import Refusal
from assent.people.api.approvals import PATH, REASON, as_json, reason_of
from assent.people.api.problems import ApiProblem
from assent.people.api.routes import ID, ApiRequest, Route, RouteParameter, Schema, text
from assent.pipeline.approve import approve, find

MOST_AT_ONCE = 50


async def decide_several(asked: ApiRequest) -> dict[str, Any]:
    """Decide several calls of one tool alike. Each is decided by itself: some may be refused, each with its reason."""
    names, verdict, reason = list(dict.fromkeys(asked.body["approvals"])), asked.body["verdict"], reason_of(asked)
    await several_of_a_kind(asked, names)
    decided, refused = list[dict[str, Any]](), list[dict[str, Any]]()
    for name in names:
        try:
            one = await approve(asked.principal, name, verdict, asked.ports, asked.channel, reason)
            decided.append(as_json(one, asked.principal, asked.ports.now()))
        except Refusal as refusal:
            refused.append({"id": name, "problem": refusal.problem()})
    return {"decided": decided, "refused": refused}


async def several_of_a_kind(asked: ApiRequest, names: list[str]) -> list[Approval]:
    """These approvals, if all are about one tool of one upstream under one contract; otherwise an ApiProblem."""
    if not 1 <= len(names) <= MOST_AT_ONCE:
        raise ApiProblem("api.invalid", f"Choose 1 to {MOST_AT_ONCE} approvals.")
    found = [await find(asked.principal, name, asked.ports) for name in names]
    kinds = {(one.tenant, one.tool, one.facts.get("upstream"), one.facts.get("contract")) for one in found}
    if len(kinds) > 1:
        raise ApiProblem("api.invalid", "Only calls of the same tool under the same contract are decided together.")
    return found


async def compare_approvals(asked: ApiRequest) -> dict[str, Any]:
    """Several approvals of one tool, to be shown side by side."""
    names, now = asked.query.get("ids", []), asked.ports.now()
    found = await several_of_a_kind(asked, names) if names else []
    return {"approvals": [as_json(one, asked.principal, now) for one in found]}


_SEVERAL: Schema = {
    "type": "object",
    "required": ["approvals", "verdict"],
    "properties": {
        "approvals": {
            "type": "array",
            "items": {"type": "string", "pattern": f"^{ID}$"},
            "minItems": 1,
            "maxItems": MOST_AT_ONCE,
        },
        "verdict": {"type": "string", "enum": ["approve", "decline"]},
        "reason": REASON,
    },
    "additionalProperties": False,
}


def _ids() -> RouteParameter:
    """Ids of approvals, parted by commas."""
    plain = text("ids", "Their ids, parted by commas.", rf"{ID}(,{ID}){{0,{MOST_AT_ONCE - 1}}}")
    return RouteParameter(
        plain.name, plain.says, plain.schema, lambda given: list(dict.fromkeys(plain.read(given).split(",")))
    )


ROUTES = (
    Route(
        "GET",
        PATH + "/compare",
        "compare_approvals",
        "Show several approvals of one tool.",
        "as for the list",
        compare_approvals,
        {
            "type": "object",
            "required": ["approvals"],
            "properties": {"approvals": {"type": "array", "items": {"$ref": "#/components/schemas/Approval"}}},
        },
        (_ids(),),
        refusals=("approve.unknown", "api.invalid"),
    ),
    Route(
        "POST",
        PATH + "/decide",
        "decide_approvals",
        "Decide several calls of one tool alike; each is decided by itself.",
        "as for approve",
        decide_several,
        {
            "type": "object",
            "required": ["decided", "refused"],
            "properties": {
                "decided": {"type": "array", "items": {"$ref": "#/components/schemas/Approval"}},
                "refused": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["id", "problem"],
                        "properties": {
                            "id": {"type": "string"},
                            "problem": {"$ref": "#/components/schemas/Problem"},
                        },
                    },
                },
            },
        },
        body=_SEVERAL,
        refusals=("approve.unknown",),
    ),
)
