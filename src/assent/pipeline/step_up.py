"""Stage `step_up`: checks that the caller's authentication is recent and strong enough."""

from __future__ import annotations

from assent.contract.fields import StepUp
from assent.core.call import Call
from assent.core.default_step_up import CRITICAL
from assent.core.outcome import Refusal
from assent.core.principal import Principal, Rights
from assent.core.tool import Tool
from assent.pipeline.record import CallTrace
from assent.ports import Ports, Rules

_NO_LOGIN = (
    "This caller has no login to renew: API keys and stdio have none. Tell the user. An operator can "
    "{login_from}, or change `step_up` in the tool's contract."
)


def applies(tool: Tool, caller: Rights, rules: Rules) -> bool:
    """If the contract declares a step-up, or the default asks one of this caller for a critical tool."""
    contract = tool.contract
    by_default = contract.risk in CRITICAL and rules.default_step_up.for_caller(caller) is not None
    return contract.step_up is not None or by_default


def step_up(call: Call, ports: Ports, trace: CallTrace) -> None:
    """Refuse with a challenge if the contract needs a more recent or stronger authentication."""
    contract, condition = call.tool.contract, call.tool.step_up_when
    spec = contract.step_up
    if spec is None and contract.risk in CRITICAL:
        spec = ports.rules.default_step_up.for_caller(call.principal)
    if spec is None:
        trace.note_pass("step_up", "no step-up needed")
        return
    if condition is not None and not condition.holds(call.arguments):
        trace.note_pass("step_up", f"not needed: {condition.source} is false")
        return
    lacking = shortfall(spec, call.principal, ports.now())
    if lacking is None:
        trace.note_pass("step_up", "recent and strong enough")
        return
    facts = {"acr_values": list(spec.acr)} if spec.acr else {}
    age = {"max_age": spec.max_age} if spec.max_age else {}
    remedy = {} if call.principal.bearer else {"remedy": _NO_LOGIN.format(login_from=ports.rules.login_from)}
    trace.refuse_or_note("step_up", Refusal("step_up.required", lacking, **facts, **age, **remedy))


def shortfall(spec: StepUp, principal: Principal, now: float) -> str | None:
    """What the authentication lacks, as a sentence."""
    if spec.acr and principal.acr not in spec.acr:
        return f"This call needs authentication of class {' or '.join(spec.acr)}."
    if spec.max_age and (principal.auth_time is None or principal.auth_time + spec.max_age <= now):
        return f"This call needs an authentication within the last {spec.max_age} seconds."
    return None
