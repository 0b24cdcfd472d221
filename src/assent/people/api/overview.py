"""The state of the gateway: calls, refusals, latency, waiting approvals, spent budgets, upstreams and conversations."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from assent.contract.fields import format_duration
from assent.core.call import Call
from assent.core.principal import Principal
from assent.core.problems import CATALOGUE
from assent.core.quotas import BudgetCharge, SpendBudget, quotas_of
from assent.core.record_scope import is_operator, record_scope_of
from assent.gateway.metrics import BOUNDS, MINUTES, CallCounters
from assent.people.api.operation import ApiRequest, get
from assent.people.api.problems import ApiProblem
from assent.pipeline.policy_check import budget_left

MOST_BUDGETS = 20
_ASKED = frozenset({"confirm.confirmation_required", "confirm.approval_pending"})


@get(
    "/api/overview",
    "Overview",
    who="operators: the gateway's; other people: their tenant's approvals and budgets",
    refusals=("api.not_entitled",),
)
async def show_overview(request: ApiRequest) -> dict[str, Any]:
    """Show calls, refusals by stage, latency, waiting approvals and spent budgets."""
    who = request.principal
    if who.kind != "human" or who.has_agent:
        raise ApiProblem("api.not_entitled", "The overview is for people.")
    tenant, now, store = record_scope_of(who).tenant, request.ports.now(), request.ports.store
    waiting, soonest = await store.count_pending(now, tenant=tenant)
    stops = [one for one in await request.stop_switches.all() if tenant is None or one.tenant in ("", tenant)]
    said = {
        "waiting": waiting,
        "soonest": soonest,
        "stops": len(stops),
        "budgets": await _budgets(request, tenant),
    }
    return {**said, "gateway": _gateway(request, now)} if tenant is None else said


def _gateway(request: ApiRequest, now: float) -> dict[str, Any]:
    state, catalogue = request.state, request.ports.catalogue()
    status = state.upstream_status()
    return {
        **_calls(state.tally),
        "minutes": _minutes(state.tally, now),
        "latency": _latency(state.tally),
        "tools": len(catalogue.tools),
        "withheld": len(catalogue.withheld),
        "upstreams": len(status),
        "troubled": [one.name for one in status if one.trouble or one.circuit != "closed"],
    }


def _calls(tally: CallCounters) -> dict[str, Any]:
    """How calls ended since the start. A call that waits for a person is neither answered nor refused."""
    ends: Counter[str] = Counter()
    for (_, end), count in tally.calls.items():
        ends[end] += count
    stages = Counter[str]()
    for end, count in ends.items():
        if end in CATALOGUE and end not in _ASKED:
            stages[end.partition(".")[0]] += count
    return {
        "calls": sum(ends.values()),
        "answered": ends["answered"] + ends["replayed"],
        "asked": sum(ends[code] for code in _ASKED),
        "refused": sum(stages.values()),
        "stages": dict(stages.most_common()),
        "codes": {code: count for code, count in ends.most_common() if code in CATALOGUE},
    }


def _minutes(tally: CallCounters, now: float) -> list[dict[str, int]]:
    last = int(now // 60)
    found = [(minute, tally.minutes.get(minute, [0, 0])) for minute in range(last - MINUTES + 1, last + 1)]
    return [{"at": minute * 60, "answered": counts[0], "refused": counts[1]} for minute, counts in found]


def _latency(tally: CallCounters) -> dict[str, Any]:
    count = sum(tally.seconds)
    named = [f"{bound:g}" for bound in BOUNDS] + ["more"]
    return {
        "count": count,
        "mean": tally.seconds_in_all / count if count else None,
        "half": _within(tally, 0.5),
        "most": _within(tally, 0.95),
        "buckets": [{"seconds": name, "count": number} for name, number in zip(named, tally.seconds, strict=True)],
    }


def _within(tally: CallCounters, share: float) -> float | None:
    """The bound below which this share of calls took; None where there were none or they took longer than any."""
    wanted, so_far = sum(tally.seconds) * share, 0
    for bound, count in zip(BOUNDS, tally.seconds, strict=False):
        so_far += count
        if so_far and so_far >= wanted:
            return bound
    return None


async def _budgets(request: ApiRequest, tenant: str | None) -> list[dict[str, Any]]:
    """What callers that were seen lately have spent of each budget, the fullest first."""
    if not request.ports.rules.budgets:
        return []
    recent = await request.recent_calls()
    found: dict[str, dict[str, Any]] = {}
    for principal, tool in reversed(recent.callers):
        if tenant in (None, principal.tenant) and len(found) < MOST_BUDGETS:
            await _add_budgets(request, principal, tool, found)
    return sorted(found.values(), key=lambda one: -one["share"])


async def _add_budgets(request: ApiRequest, principal: Principal, name: str, found: dict[str, dict[str, Any]]) -> None:
    tool = request.ports.catalogue().find(name)
    if tool is None:
        return
    call = Call(principal, tool, {}, b"{}", "", "")
    for line in request.ports.rules.budgets:
        for charge in quotas_of(call, (), (line,), None, request.ports.now()).charges:
            if charge.tally not in found:
                found[charge.tally] = _spent(
                    line, call, charge, await budget_left(charge, request.ports, request.ports.now())
                )


def _spent(line: SpendBudget, call: Call, charge: BudgetCharge, left: Decimal) -> dict[str, Any]:
    values = {
        "principal": call.principal.id,
        "tenant": call.principal.tenant,
        "tool": call.tool.name,
        "tier": call.tool.contract.side_effect.value,
    }
    return {
        "limit": str(charge.limit),
        "spent": str(charge.limit - left),
        "share": float((charge.limit - left) / charge.limit),
        "currency": line.currency or "calls",
        "per": format_duration(line.per),
        "until": charge.until,
        "who": [f"{each} {values[each]}" for each in line.each],
        "test": call.principal.mode == "test",
    }


@get("/api/upstreams", "UpstreamList", who="roles operator, auditor and admin", refusals=("api.not_entitled",))
async def list_upstreams(request: ApiRequest) -> dict[str, Any]:
    """List the upstreams: whether they answer, what is wrong, and how many tools they have."""
    check_staff(request.principal, "Upstreams are")
    catalogue, state = request.ports.catalogue(), request.state
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


@get("/api/conversations", "ConversationList", who="roles operator, auditor and admin", refusals=("api.not_entitled",))
async def list_conversations(request: ApiRequest) -> dict[str, Any]:
    """List the conversations of flow control on this replica: what entered, and what was decided."""
    check_staff(request.principal, "Conversations are")
    flow = request.ports.rules.flow
    found = flow.report(request.principal.tenant) if flow is not None else []
    return {"mode": flow.mode if flow is not None else "off", "conversations": found}
