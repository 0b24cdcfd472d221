"""`assent policy explain`: shows which policies decide about one call."""

from __future__ import annotations

import json
import time
from pathlib import Path
from textwrap import indent
from typing import IO, Any

import click

from assent.cli.decide import read_request
from assent.cli.shared.policies import LoadedPolicies, load_policies_of
from assent.core.call import Call, Request
from assent.core.outcome import Refusal
from assent.core.policy_verdict import PolicyVerdict
from assent.core.question import visible
from assent.errors import Fault, SettingsError
from assent.pipeline.trace import CallTrace
from assent.pipeline.validate import validate
from assent.rules.policy.source import Policy


def explain(ctx: click.Context, request_file: IO[str], caller: str | None, as_json: bool, config: Path | None) -> None:
    loaded = load_policies_of(config)
    call = call_of(read_request(request_file, loaded.settings, caller)[0], loaded)
    verdict = judge(call, loaded, time.time())
    applying = list(loaded.engine.of_tool(call.tool).policies.values())
    click.echo(json.dumps(_as_json(verdict, applying), indent=2) if as_json else _as_text(call, verdict, applying))
    ctx.exit(0 if verdict.effect == "allow" else 1)


def call_of(request: Request, loaded: LoadedPolicies) -> Call:
    """The call that a request makes; raises SettingsError if the tool or the arguments do not exist."""
    tool = loaded.catalogue.find(request.tool)
    if tool is None:
        raise SettingsError(
            Fault(f"there is no tool {visible(request.tool)}", "`assent policy check` lists them", "tool")
        )
    try:
        return validate(request, request.principal, tool, CallTrace())
    except Refusal as refusal:
        raise SettingsError(Fault(refusal.problem()["detail"], "Correct the arguments", "arguments")) from None


def judge(call: Call, loaded: LoadedPolicies, now: float) -> PolicyVerdict:
    """What all policies decide about a call."""
    return loaded.engine.judge_tool(call.principal, call.tool).joined(loaded.engine.judge_call(call, now))


def _as_json(verdict: PolicyVerdict, applying: list[Policy]) -> dict[str, Any]:
    return {
        "decision": verdict.effect,
        "denied": [{"policy": one.id, "reason": one.reason} for one in verdict.denied],
        "approvals": [{"policy": one.id, "reason": one.reason, "by": one.by} for one in verdict.approvals],
        "applying": [{"policy": one.id, "where": one.where, "text": one.text} for one in applying],
    }


def _as_text(call: Call, verdict: PolicyVerdict, applying: list[Policy]) -> str:
    who = f"{visible(call.principal.id)} ({call.principal.kind}, tenant {visible(call.principal.tenant)})"
    lines = [f"{verdict.effect}: {call.tool.name} by {who}"]
    reasons = {one.id: (effect, one.reason) for effect, one in _decisive(verdict)}
    for policy in applying:
        if policy.id in reasons:
            effect, reason = reasons[policy.id]
            lines.append(f"\n{policy.id}: {effect}" + (f": {reason}" if reason else "") + f"  ({policy.where})")
            lines.append(indent(policy.text, "    "))
    others = [policy.id for policy in applying if policy.id not in reasons]
    if others:
        lines.append(f"\nDid not match: {', '.join(others)}")
    return "\n".join(lines if applying else [*lines, "No policy applies to this tool."])


def _decisive(verdict: PolicyVerdict) -> list[tuple[str, Any]]:
    approvals = [("asks for an approval", one) for one in verdict.approvals]
    return [*approvals, *(("denies", one) for one in verdict.denied)]
