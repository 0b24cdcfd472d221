"""Stage `guard`: checks the arguments against the policies and the configured guards, and later the result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from assent.core.call import Call
from assent.core.guard_finding import GuardFinding
from assent.core.outcome import Refusal
from assent.core.quotas import Quotas
from assent.guards.context import Context
from assent.guards.evaluate import NOT_CHECKED, objection_to
from assent.guards.lookups import look_up
from assent.guards.masking import mask_result
from assent.guards.results import result_objection
from assent.guards.rule import Denial, GuardRule
from assent.pipeline.policy_check import check_call_policies
from assent.pipeline.trace import CallTrace
from assent.ports import Flow, Ports, RateLimited

_GUARDS = "An operator can change it under `guards:`."


async def require_connection(call: Call, ports: Ports, scope: str | None = None) -> None:
    """Refuse a call whose upstream is not connected for this caller, before a person is asked about it.

    `scope` is what the upstream itself asked for when it refused the call.
    """
    needed = await ports.connect(call, scope) if ports.connect is not None else None
    if needed is not None:
        more = f" with the permissions {needed.scope}" if needed.scope else ""
        detail = f"{needed.upstream} is not connected{more}. Nothing has run."
        remedy = f"Tell the user to connect it ({needed.where}), then call again with the same arguments."
        where = {"connect_url": needed.where} if "://" in needed.where else {}
        where |= {"scope": needed.scope} if needed.scope else {}
        raise Refusal("guard.not_connected", detail, remedy=remedy, upstream=needed.upstream, **where)


async def guard(call: Call, ports: Ports, trace: CallTrace) -> None:
    """Refuse at the first policy or guard that denies. Those that ask for an approval are noted for `confirm`."""
    if ports.policies is not None:
        await check_call_policies(call, ports.policies, ports, trace)
    if ports.flow is not None:
        _check_flow(call, ports.flow, ports.now(), trace)
    rules = _applying_rules("arguments", call, ports)
    if not rules:
        trace.passed("guard", "no rule applies")
        return
    arguments = {**call.arguments, **call.beside} if call.beside else call.arguments
    context = Context.of(call, ports.now())
    for rule in rules:
        denied = await _objection(rule, arguments, context, ports, trace)
        if denied is not None:
            _act(_finding(rule, denied, observed=trace.observing), trace)
    trace.passed("guard", "%d rules passed", len(rules))


def _applying_rules(on: str, call: Call, ports: Ports) -> list[GuardRule]:
    """The guards of this call. Those that its tool rules out are found once per tool."""
    known: tuple[Any, dict[str, list[GuardRule]]] | None = call.tool.derived.get("guards")
    if known is None or known[0] is not ports.guards:
        held = [rule for rule in ports.guards if rule.match.holds_for(call.tool)]
        known = ports.guards, {"arguments": [], "results": []}
        for rule in held:
            known[1][rule.on].append(rule)
        call.tool.derived["guards"] = known
    return [rule for rule in known[1][on] if rule.applies(call)]


def _check_flow(call: Call, flow: Flow, now: float, trace: CallTrace) -> None:
    """Refuse, ask or record what flow control finds in the arguments."""
    for found in flow.check(call, now, observing=trace.observing):
        if found.action == "deny" and not found.observed:
            trace.guards.append(found)
            raise Refusal("guard.flow_untrusted", found.sentence, rule=found.rule, field=found.field)
        _act(found, trace)


async def _objection(
    rule: GuardRule, arguments: Mapping[str, Any], context: Context, ports: Ports, trace: CallTrace
) -> Denial | None:
    if rule.counts:
        return await _over_count(rule, arguments, context, ports, trace)
    if rule.looks_up:
        try:
            context = await look_up(rule, arguments, context, ports.resolve)
        except Exception:  # What cannot be looked up cannot be checked.
            return "", NOT_CHECKED
    return objection_to(rule, arguments, context)


async def _over_count(
    rule: GuardRule, arguments: Mapping[str, Any], context: Context, ports: Ports, trace: CallTrace
) -> Denial | None:
    """Look whether the counts allow one more call. `claim` takes it, together with the other quotas."""
    rates = tuple(slot for inner, given, _ in rule.each_call(context, arguments) for slot in rule.rates(given, inner))
    try:
        await ports.store.afford(Quotas(rates), context.now)
    except RateLimited:
        return "", rule.over_count
    if rule.mode == "enforce":
        trace.rates += rates
    return None


def _finding(rule: GuardRule, denied: Denial, *, observed: bool = False, count: int = 0) -> GuardFinding:
    field, reason = denied
    observed = observed or rule.mode == "observe"
    return GuardFinding(rule.rule, rule.action, field, reason, rule.because, rule.by, observed, count)


def _act(found: GuardFinding, trace: CallTrace) -> None:
    """Refuse, ask or record, as the guard says. In observe mode only record; an approval is then noted by `confirm`."""
    trace.guards.append(found)
    if found.action == "deny":
        refusal = Refusal("guard.denied", found.sentence, remedy=_remedy(found), rule=found.rule, field=found.field)
        if not found.observed:
            raise refusal
        trace.would_stop("guard", refusal.code, f"{found.rule}: {found.sentence}")
    elif found.action == "approve":
        if found.observed and not trace.observing:
            trace.would_stop("guard", "confirm.confirmation_required", f"{found.rule}: {found.sentence}")
        else:
            trace.passed("guard", "%s asks for an approval: %s", found.rule, found.sentence)
    else:
        trace.warned("guard", f"{found.rule}: {found.sentence}")


class GuardedResult(NamedTuple):
    """A result after the guards: masked, or refused."""

    result: dict[str, Any]
    findings: tuple[GuardFinding, ...] = ()
    refusal: Refusal | None = None


def guard_result(call: Call, result: dict[str, Any], ports: Ports, *, observing: bool) -> GuardedResult:
    """Mask and check the result. The effect has happened, so a refusal says so. What cannot be masked is withheld."""
    rules = _applying_rules("results", call, ports)
    if not rules:
        return GuardedResult(result)
    findings: list[GuardFinding] = []
    context = Context.of(call, ports.now())
    for rule in rules:
        if rule.action == "mask":
            try:
                result = _mask(rule, result, findings, observing)
            except Exception:
                return GuardedResult(result, tuple(findings), _withheld(_finding(rule, ("", NOT_CHECKED))))
        elif (denied := result_objection(rule, result, context)) is not None:
            findings.append(found := _finding(rule, denied, observed=observing))
            if found.action == "deny" and not found.observed:
                return GuardedResult(result, tuple(findings), _withheld(found))
    return GuardedResult(result, tuple(findings), _misfit(call, result, findings))


def _withheld(found: GuardFinding) -> Refusal:
    remedy = (
        f"The call has run; do not repeat it. Tell the user: the guard {found.rule} withholds the result. {_GUARDS}"
    )
    return Refusal("guard.result_denied", f"The result is withheld. {found.sentence}", remedy=remedy, rule=found.rule)


def _remedy(found: GuardFinding) -> str:
    """What the model can change, and who can change the guard."""
    change = f"Change `{found.field}`, or tell" if found.field else "Tell"
    return f"{change} the user: the guard {found.rule} forbids this. {_GUARDS}"


def _mask(rule: GuardRule, result: dict[str, Any], findings: list[GuardFinding], observing: bool) -> dict[str, Any]:
    masked, count = mask_result(rule, result)
    if not count:
        return result
    why = ("", "the result holds what this guard masks")
    findings.append(found := _finding(rule, why, observed=observing, count=count))
    return result if found.observed else masked


def _misfit(call: Call, result: dict[str, Any], findings: list[GuardFinding]) -> Refusal | None:
    """The refusal of a result that no longer fits its output schema because something in it was masked."""
    check = call.tool.check_output
    masked = [one for one in findings if one.count and not one.observed]
    if not masked or check is None or result.get("isError") or not check(result.get("structuredContent")):
        return None
    return Refusal("guard.mask_misfit", rule=masked[0].rule)
