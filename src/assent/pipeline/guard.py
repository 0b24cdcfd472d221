"""Stage `guard`: checks the arguments against the configured rules."""

from __future__ import annotations

from assent.core.call import Call
from assent.core.outcome import Refusal
from assent.pipeline.trace import CallTrace
from assent.ports import Ports


def guard(call: Call, ports: Ports, trace: CallTrace) -> None:
    """Refuse at the first rule that denies, naming the rule and the field."""
    applied = 0
    arguments = {**call.arguments, **call.beside} if call.beside else call.arguments
    for rule in ports.guards:
        if not rule.applies(call):
            continue
        applied += 1
        denied = rule.denies(arguments)
        if denied is not None:
            field, reason = denied
            trace.refuse_or_note("guard", Refusal("guard.denied", f"{field}: {reason}.", rule=rule.rule, field=field))
            return
    if applied:
        trace.passed("guard", "%d rules passed", applied)
    else:
        trace.passed("guard", "no rule applies")
