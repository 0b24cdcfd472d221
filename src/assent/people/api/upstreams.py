"""The state of every upstream: whether it answers, what is wrong, and how many tools it has."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from assent.core.principal import Principal
from assent.core.record_scope import is_operator
from assent.people.api.problems import ApiProblem
from assent.people.api.routes import ApiRequest, Route, Schema

UPSTREAM: Schema = {
    "type": "object",
    "description": "One upstream as it is now. Times are seconds since 1970.",
    "required": ["name", "kind", "address", "trouble", "circuit", "failures", "served", "withheld"],
    "properties": {
        "name": {"type": "string"},
        "kind": {"type": "string", "enum": ["command", "url", "openapi"]},
        "address": {"type": "string", "description": "Where it is, without arguments and credentials."},
        "trouble": {"type": "string", "description": "What is wrong, in words; empty where it answered."},
        "refreshed_at": {"type": ["number", "null"], "description": "When its tools were last read."},
        "circuit": {"type": "string", "enum": ["closed", "open", "probing"]},
        "failures": {"type": "integer", "description": "Failures in a row."},
        "last_error": {"type": "string"},
        "has_test": {"type": "boolean"},
        "hidden_text": {
            "type": "array",
            "items": {"type": "string"},
            "description": "The hidden characters that agents are not shown, escaped, each with its place.",
        },
        "sandbox": {"type": "string", "description": "How it is confined, in words; off where it is not."},
        "stopped": {
            "type": "array",
            "items": {"type": "string"},
            "description": "What its sandbox stopped, or would stop, each with its tool and the line to add.",
        },
        "served": {"type": "integer"},
        "withheld": {"type": "integer"},
    },
}


async def list_upstreams(asked: ApiRequest) -> dict[str, Any]:
    check_staff(asked.principal, "Upstreams are")
    catalogue, state = asked.ports.catalogue(), asked.state
    served = Counter(tool.upstream for tool in catalogue.tools.values())
    withheld = Counter(state.upstream_of_withheld().values())
    return {
        "upstreams": [
            {**asdict(one), "served": served[one.name], "withheld": withheld[one.name]}
            for one in state.upstream_status()
        ]
    }


def check_staff(principal: Principal, what: str) -> None:
    """Raise unless this is an operator, or a person with the role auditor or admin."""
    if is_operator(principal):
        return
    if principal.has_agent or principal.kind != "human" or not principal.roles & {"auditor", "admin"}:
        raise ApiProblem("api.not_entitled", f"{what} for people with the role operator, auditor or admin.")


ROUTES = (
    Route(
        "GET",
        "/api/upstreams",
        "list_upstreams",
        "List the upstreams: whether they answer, what is wrong, and how many tools they have.",
        "roles operator, auditor and admin",
        list_upstreams,
        {
            "type": "object",
            "required": ["upstreams"],
            "properties": {"upstreams": {"type": "array", "items": {"$ref": "#/components/schemas/Upstream"}}},
        },
        refusals=("api.not_entitled",),
    ),
)
