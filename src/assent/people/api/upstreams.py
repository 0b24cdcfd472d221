"""The state of every upstream: whether it answers, what is wrong, and how many tools it has."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from assent.core.principal import Principal
from assent.core.record_scope import is_operator
from assent.people.api.operation import ApiRequest, get
from assent.people.api.problems import ApiProblem


@get("/api/upstreams", "UpstreamList", who="roles operator, auditor and admin", refusals=("api.not_entitled",))
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
