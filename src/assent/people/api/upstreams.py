"""The state of every upstream: whether it answers, what is wrong, and how many tools it has."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Annotated, Any, NotRequired

from typing_extensions import TypedDict

from assent.core.principal import Principal
from assent.core.record_scope import is_operator
from assent.people.api.fields import OneOf
from assent.people.api.operation import ApiRequest, get
from assent.people.api.problems import ApiProblem


class UpstreamJson(TypedDict):
    """One upstream as it is now. Times are seconds since 1970."""

    name: str
    kind: Annotated[str, OneOf(("command", "url", "openapi"))]
    address: Annotated[str, "Where it is, without arguments and credentials."]
    trouble: Annotated[str, "What is wrong, in words; empty if it answered."]
    refreshed_at: NotRequired[Annotated[float | None, "When its tools were last read."]]
    circuit: Annotated[str, OneOf(("closed", "open", "probing"))]
    failures: Annotated[int, "Failures in a row."]
    last_error: NotRequired[str]
    has_test: NotRequired[bool]
    hidden_text: NotRequired[
        Annotated[list[str], "The hidden characters that agents are not shown, escaped, each with its place."]
    ]
    sandbox: NotRequired[Annotated[str, "How it is confined, in words; off if it is not."]]
    stopped: NotRequired[
        Annotated[list[str], "What its sandbox stopped, or would stop, each with its tool and the line to add."]
    ]
    served: int
    withheld: int


class UpstreamList(TypedDict):
    upstreams: list[UpstreamJson]


@get("/api/upstreams", UpstreamList, who="roles operator, auditor and admin", refusals=("api.not_entitled",))
async def list_upstreams(asked: ApiRequest) -> dict[str, Any]:
    """List the upstreams: whether they answer, what is wrong, and how many tools they have."""
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
