"""Stage `guard`: checks the arguments against the policies and the configured guards, and later the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from assent.core.call import Call
from assent.core.guard_finding import GuardFinding
from assent.core.outcome import Refusal
from assent.core.principal import Rights
from assent.core.quotas import Quotas, RateSlot
from assent.core.tool import Tool
from assent.pipeline.policy_check import check_call_policies, used_percent
from assent.pipeline.record import CallTrace
from assent.pipeline.remedies import guard_remedy, withheld_refusal
from assent.ports import Flow, Policies, Ports, RateLimited, Rules
from assent.rules.guards.context import Context
from assent.rules.guards.evaluate import NOT_CHECKED, check_call, in_time, is_quick, objection_to
from assent.rules.guards.masking import mask_result
from assent.rules.guards.results import json_size, result_objection, too_much_result
from assent.rules.guards.rule import Denial, GuardRule
from assent.rules.guards.workload import Later

T = TypeVar("T")


def applies(tool: Tool, caller: Rights, rules: Rules) -> bool:
    """If there are policies, flow control, or guards on the arguments of this tool."""
    return rules.policies is not None or rules.flow is not None or bool(guards_of(tool, rules)["arguments"])


def guards_of(tool: Tool, rules: Rules) -> dict[str, list[GuardRule]]:
    """The guards that can apply to calls of a tool, `arguments` and `results` apart; found once per tool."""
    known: tuple[Any, dict[str, list[GuardRule]]] | None = tool.derived.get("guards")
    if known is None or known[0] is not rules.guards:
        known = rules.guards, {"arguments": [], "results": []}
        for rule in rules.guards:
            if rule.concerns(tool):
                known[1][rule.on].append(rule)
        tool.derived["guards"] = known
    return known[1]


def guard(call: Call, ports: Ports, trace: CallTrace) -> Later[None] | None:
    """Refuse at the first policy or guard that denies. Those that ask for an approval are noted for `confirm`.

    Returns what to await if a policy reads budgets, a guard counts calls or looks something up, or much is to be read.
    """
    policies = ports.rules.policies
    if policies is not None and policies.reads_budget(call):
        return _guard_by_budget(call, policies, ports, trace)
    if policies is not None:
        check_call_policies(call, policies, 0, ports, trace)
    return _guard_arguments(call, ports, trace)


async def _guard_by_budget(call: Call, policies: Policies, ports: Ports, trace: CallTrace) -> None:
    check_call_policies(call, policies, await used_percent(call, ports), ports, trace)
    checking = _guard_arguments(call, ports, trace)
    if checking is not None:
        await checking


def _guard_arguments(call: Call, ports: Ports, trace: CallTrace) -> Later[None] | None:
    flow = ports.rules.flow
    if flow is not None:
        try:
            findings = flow.check(call, ports.now(), observing=trace.observing)
        except Exception:
            findings = _not_checked(flow, trace)
        if not isinstance(findings, list):
            return _guard_much(findings, call, flow, ports, trace)
        _heed_flow(findings, trace)
    return _ask_guards(call, ports, trace)


async def _guard_much(
    checking: Later[list[GuardFinding]], call: Call, flow: Flow, ports: Ports, trace: CallTrace
) -> None:
    """The same for a call of which flow control reads much."""
    try:
        findings = await checking
    except Exception:
        findings = _not_checked(flow, trace)
    _heed_flow(findings, trace)
    asking = _ask_guards(call, ports, trace)
    if asking is not None:
        await asking


def _ask_guards(call: Call, ports: Ports, trace: CallTrace) -> Later[None] | None:
    rules = [rule for rule in guards_of(call.tool, ports.rules)["arguments"] if rule.applies(call)]
    if not rules:
        trace.note_pass("guard", "no rule applies")
        return None
    arguments = {**call.arguments, **call.beside} if call.beside else call.arguments
    context = Context.of(call, ports.now())
    for index, rule in enumerate(rules):
        if rule.counts or rule.looks_up or not is_quick(rule, len(call.canonical)):
            return _guard_waiting(rules[index:], arguments, context, ports, trace)
        _judge(rule, objection_to(rule, arguments, context), trace)
    trace.note_pass("guard", "%d rules passed", len(rules))
    return None


async def _guard_waiting(
    rules: list[GuardRule], arguments: Mapping[str, Any], context: Context, ports: Ports, trace: CallTrace
) -> None:
    """The rest of the guards, from the first one that needs the store or a look-up."""
    for rule in rules:
        _judge(rule, await _objection(rule, arguments, context, ports, trace), trace)
    trace.note_pass("guard", "all rules passed")


def _judge(rule: GuardRule, denied: Denial | None, trace: CallTrace) -> None:
    if denied is not None:
        _act(_finding(rule, denied, observed=trace.observing), trace)


def _not_checked(flow: Flow, trace: CallTrace) -> list[GuardFinding]:
    """Refuse a call that flow control cannot check."""
    if flow.mode != "observe" and not trace.observing:
        raise Refusal("guard.flow_untrusted", "The call could not be checked, so it is refused.") from None
    trace.note_warning("guard", "flow control could not check this call")
    return []


def _heed_flow(findings: list[GuardFinding], trace: CallTrace) -> None:
    """Refuse, ask or record what flow control finds in the arguments."""
    for found in findings:
        if found.action == "deny" and not found.observed:
            trace.guards.append(found)
            raise Refusal("guard.flow_untrusted", found.sentence, rule=found.rule, field=found.field)
        _act(found, trace)


async def _objection(
    rule: GuardRule, arguments: Mapping[str, Any], context: Context, ports: Ports, trace: CallTrace
) -> Denial | None:
    if rule.counts:
        return await _over_count(rule, arguments, context, ports, trace)
    assert context.call is not None
    return await check_call(rule, arguments, context, len(context.call.canonical), ports.resolve)


async def _over_count(
    rule: GuardRule, arguments: Mapping[str, Any], context: Context, ports: Ports, trace: CallTrace
) -> Denial | None:
    """Look whether the counts allow one more call. `claim` takes it, together with the other quotas."""
    assert context.call is not None

    def read_rates() -> tuple[RateSlot, ...]:
        return tuple(
            slot for inner, given, _ in rule.each_call(context, arguments) for slot in rule.rates(given, inner)
        )

    rates = await in_time(rule, len(context.call.canonical), context, read_rates)
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
        refusal = Refusal(
            "guard.denied", found.sentence, remedy=guard_remedy(found), rule=found.rule, field=found.field
        )
        if not found.observed:
            raise refusal
        trace.would_stop("guard", refusal.code, f"{found.rule}: {found.sentence}")
    elif found.action == "approve":
        if found.observed and not trace.observing:
            trace.would_stop("guard", "confirm.confirmation_required", f"{found.rule}: {found.sentence}")
        else:
            trace.note_pass("guard", "%s asks for an approval: %s", found.rule, found.sentence)
    else:
        trace.note_warning("guard", f"{found.rule}: {found.sentence}")


class GuardedResult(NamedTuple):
    """A result after the guards: masked, or refused."""

    result: dict[str, Any]
    findings: tuple[GuardFinding, ...] = ()
    refusal: Refusal | None = None


def guard_result(call: Call, result: dict[str, Any], ports: Ports, *, observing: bool) -> GuardedResult:
    """Mask and check the result. The effect has happened, so a refusal says so. What cannot be masked is withheld."""
    rules = [rule for rule in guards_of(call.tool, ports.rules)["results"] if rule.applies(call)]
    if not rules:
        return GuardedResult(result)
    findings: list[GuardFinding] = []
    context = Context.of(call, ports.now())
    for rule in rules:
        masked, denied, count = _check_result(rule, result, context)
        if denied is None:
            continue
        findings.append(found := _finding(rule, denied, observed=observing, count=count))
        if count and not found.observed:
            result = masked
        elif found.action in ("deny", "mask") and not found.observed:
            return GuardedResult(result, tuple(findings), withheld_refusal(found))
    return GuardedResult(result, tuple(findings), _misfit(call, result, findings))


def guarded_text(call: Call, text: str, ports: Ports) -> str:
    """What a tool said in an error, as the guards leave it; empty if they withhold it."""
    if not text:
        return ""
    guarded = guard_result(call, {"isError": True, "content": [{"type": "text", "text": text}]}, ports, observing=False)
    return "" if guarded.refusal is not None else str(guarded.result["content"][0]["text"])


async def guard_result_in_time(call: Call, result: dict[str, Any], ports: Ports, *, observing: bool) -> GuardedResult:
    """`guard_result`, without blocking other calls."""
    return await read_in_time(call, result, ports, lambda: guard_result(call, result, ports, observing=observing))


async def read_in_time(call: Call, result: dict[str, Any], ports: Ports, work: Callable[[], T]) -> T:
    """Run what reads a result with guards: here if it is short, in a thread if it would block other calls."""
    rules = guards_of(call.tool, ports.rules)["results"]
    if not rules:
        return work()
    return await in_time(max(rules, key=_cost), json_size(result), Context.of(call, ports.now()), work)


def _cost(rule: GuardRule) -> float:
    return rule.per_character


def _check_result(
    rule: GuardRule, result: dict[str, Any], context: Context
) -> tuple[dict[str, Any], Denial | None, int]:
    """The result as the guard masks it, its objection, and how many places are masked."""
    try:
        if (reason := too_much_result(rule, result)) is not None:
            return result, ("", reason), 0
        if rule.action != "mask":
            return result, result_objection(rule, result, context), 0
        masked, count = mask_result(rule, result)
        return masked, ("", "the result holds what this guard masks") if count else None, count
    except Exception:
        return result, ("", NOT_CHECKED), 0


def _misfit(call: Call, result: dict[str, Any], findings: list[GuardFinding]) -> Refusal | None:
    """The refusal of a result that no longer fits its output schema because something in it was masked."""
    check = call.tool.check_output
    masked = [one for one in findings if one.count and not one.observed]
    if not masked or check is None or result.get("isError") or not check(result.get("structuredContent")):
        return None
    return Refusal("guard.mask_misfit", rule=masked[0].rule)


def remember(call: Call, given: dict[str, Any] | Exception, ports: Ports) -> dict[str, Any] | Later[dict[str, Any]]:
    """The result as the caller gets it, or what to await for it if it is large.

    Flow control remembers the values that it brings into the conversation. The message of a failure counts too: an
    upstream may have written it, and the caller reads it.
    """
    if isinstance(given, Exception):
        text = given.detail if isinstance(given, Refusal) else str(given)
        given = {"content": [{"type": "text", "text": text}]}
    flow = ports.rules.flow
    return given if flow is None else flow.remember(call, given, ports.now())
