"""The policies' part of the stages `authorize` and `guard`.

What follows from principal and tool alone is decided in `authorize`, before arguments are read. What reads
arguments, the time or budgets is decided in `guard`. Policies that ask for an approval are noted for `confirm`.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from assent.core.call import Call
from assent.core.outcome import Refusal
from assent.core.policy_verdict import NO_POLICY, PolicyVerdict
from assent.core.principal import Principal
from assent.core.quotas import BudgetCharge, Quotas, quotas_of
from assent.core.tool import Tool
from assent.pipeline.record import CallTrace
from assent.ports import OverBudget, Policies, Ports


def check_tool_policies(principal: Principal, tool: Tool, policies: Policies, trace: CallTrace) -> None:
    """Refuse a tool that policies forbid to this principal, whatever the arguments."""
    _apply("authorize", policies.judge_tool(principal, tool), trace)


def check_call_policies(call: Call, policies: Policies, used_percent: int, ports: Ports, trace: CallTrace) -> None:
    """Refuse a call that policies forbid."""
    _apply("guard", policies.judge_call(call, ports.now(), used_percent), trace)


async def used_percent(call: Call, ports: Ports) -> int:
    """How much is used of the fullest budget that counts this call, in whole percent; 0 if none does."""
    now = ports.now()
    charges = quotas_of(call, (), ports.rules.budgets, None, now).charges
    return max([int(100 * (1 - await budget_left(one, ports, now) / one.limit)) for one in charges], default=0)


async def budget_left(charge: BudgetCharge, ports: Ports, now: float) -> Decimal:
    """What is left of a budget: asked with an amount that none can hold, so that the answer names it."""
    try:
        await ports.store.afford(Quotas(charges=(replace(charge, amount=Decimal("Infinity")),)), now)
    except OverBudget as over:
        return max(Decimal(0), over.left)
    return charge.limit


def forbids_tool(principal: Principal, tool: Tool, policies: Policies | None) -> bool:
    """Whether policies forbid a tool to a principal, so that it is not listed: the same decision as for a call."""
    return policies is not None and bool(policies.judge_tool(principal, tool).denied)


def policy_refusal(verdict: PolicyVerdict) -> Refusal:
    """The refusal that names the first policy and its reason, and all that deny."""
    first, ids = verdict.denied[0], list(dict.fromkeys(one.id for one in verdict.denied))
    detail = f"The policy {first.id} forbids this call" + (f": {first.reason.rstrip('.')}." if first.reason else ".")
    remedy = (
        f"Do not repeat it. Tell the user: the policy {first.id} forbids it. An operator can change it under "
        "`policies:`; `assent policy explain` shows its text."
    )
    return Refusal("guard.policy_denied", detail, remedy=remedy, policy=first.id, policies=ids)


def _apply(stage: str, verdict: PolicyVerdict, trace: CallTrace) -> None:
    if verdict is NO_POLICY:
        return
    trace.policies += [one.id for one in (*verdict.denied, *verdict.approvals)]
    if verdict.denied:
        trace.refuse_or_note(stage, policy_refusal(verdict))
    elif verdict.approvals:
        trace.note_pass(stage, "policies ask for an approval: %s", ", ".join(map(str, verdict.approvals)))
    elif verdict.examined:
        trace.note_pass(stage, "policies allow it (%d examined)", verdict.examined)
    trace.approvals += verdict.approvals
