"""`assent policy`: checks, explains, tests and compares policies, and tries rules on recorded history."""

from __future__ import annotations

import json
import time
from pathlib import Path
from textwrap import indent
from typing import IO, TYPE_CHECKING, Any

import click

from assent.cli.shared.options import EXISTING_FILE, config_option
from assent.core.question import counted, visible

if TYPE_CHECKING:
    from assent.cli.shared.policies import LoadedPolicies
    from assent.core.call import Call
    from assent.core.policy_verdict import PolicyVerdict
    from assent.rules.policy.comparison import Comparison, Difference
    from assent.rules.policy.source import Policy

_MOST_NAMED = 6
_MOST_SHOWN = 12


@click.group()
def policy() -> None:
    """Check, explain, test and compare policies, and try guards, limits, contracts and policies on history.

    Example: assent policy check -c assent.yaml
    """


@policy.command(short_help="Validate the policies and say what each applies to.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@config_option
@click.pass_context
def check(ctx: click.Context, as_json: bool, config: Path | None) -> None:
    """Validate the policies of a configuration and say what each applies to.

    Upstreams are asked for their tools. Exit code 0: every policy applies to something; 1: some apply to nothing;
    2: a policy cannot be used.

    Example: assent policy check -c assent.yaml
    """
    from assent.cli.shared.policies import load_policies_of

    loaded = load_policies_of(config)
    found = [_facts_of(one, loaded) for one in loaded.engine.policies]
    idle = [one for one in found if not one["tools"] and not one["requests"]]
    if as_json:
        click.echo(json.dumps({"policies": found, "unused": [one["id"] for one in idle]}, indent=2))
    else:
        for one in found:
            click.echo(_check_line(one))
        click.echo(_check_summary(found, idle, loaded), err=True)
    ctx.exit(1 if idle else 0)


@policy.command(short_help="Find requests that two sets of policies decide differently.")
@click.argument("old")
@click.argument("new")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with all differences.")
@config_option
@click.pass_context
def diff(ctx: click.Context, old: str, new: str, as_json: bool, config: Path | None) -> None:
    """Find requests that OLD and NEW decide differently.

    OLD and NEW are configurations (assent.yaml) or policies (a file, a folder, a pattern). Policies are compared over
    the tools of the configuration -c. Requests vary over tools, tiers and risks, kinds of principal, live and test,
    roles, and the values around every literal in the policies. Exit code 0: no difference was found; 1: differences.

    Example: assent policy diff policies/ policies-new/
    """
    from assent.cli.shared.policies import load_side
    from assent.rules.policy.comparison import PolicySide, compare

    before, after = load_side(old, config), load_side(new, config)
    found = compare(PolicySide(before.engine, before.catalogue), PolicySide(after.engine, after.catalogue))
    click.echo(json.dumps(_comparison_json(found), indent=2) if as_json else _comparison_text(found))
    ctx.exit(1 if found.differences else 0)


@policy.command(short_help="Show which policies decide about one call.")
@click.argument("request_file", type=click.File("r", encoding="utf-8"), default="-", metavar="[REQUEST]")
@click.option("--as", "caller", metavar="NAME", help="Call with the configured API key of this name.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@config_option
@click.pass_context
def explain(ctx: click.Context, request_file: IO[str], caller: str | None, as_json: bool, config: Path | None) -> None:
    """Show which policies decide about one call, with their text.

    REQUEST is a file (or standard input) with one JSON object: `tool`, `arguments`, optionally `principal`. Contracts,
    guards and limits are not looked at: `assent decide` shows every stage. Exit code 0: policies allow the call;
    1: they deny it or ask for an approval.

    Example: echo '{"tool": "place_order", "arguments": {}}' | assent policy explain --as ci
    """
    from assent.cli.shared.policies import call_of, judge, load_policies_of
    from assent.cli.shared.requests import read_request

    loaded = load_policies_of(config)
    call = call_of(read_request(request_file, loaded.settings, caller)[0], loaded)
    verdict = judge(call, loaded, time.time())
    applying = list(loaded.engine.of_tool(call.tool).policies.values())
    click.echo(
        json.dumps(_verdict_json(verdict, applying), indent=2) if as_json else _verdict_text(call, verdict, applying)
    )
    ctx.exit(0 if verdict.effect == "allow" else 1)


@policy.command(short_help="Decide recorded calls again under changed settings.")
@click.option("--since", help="Only calls from this time on: 2026-01-31, or an age: 15m, 2h, 7d.", metavar="T")
@click.option(
    "--history",
    type=EXISTING_FILE,
    metavar="FILE",
    help="The configuration whose log is read, if it is not the one of -c.",
)
@click.option("--json", "as_document", is_flag=True, help="Print everything as one JSON object.")
@config_option
@click.pass_context
def replay(ctx: click.Context, since: str | None, history: Path | None, as_document: bool, config: Path | None) -> None:
    """Decide recorded calls again, under the guards, limits, contracts and policies of another configuration.

    No tool is called and nothing is written. Recorded times are the clock of limits, budgets and time windows. Calls
    whose arguments were erased or never stored are counted as not replayable. Exit code 1: a decision changed, or the
    log does not verify.

    Example: assent policy replay -c new.yaml --since 7d
    """
    from assent.cli import policy_history

    policy_history.replay(ctx, since, history, as_document, config)


@policy.command(short_help="Suggest guards and scopes that recorded calls kept to.")
@click.option("--since", help="Only calls from this time on: 2026-01-31, or an age: 15m, 2h, 7d.", metavar="T")
@click.option(
    "--min-calls",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Suggest nothing about an argument that was seen in fewer calls.",
)
@config_option
def suggest(since: str | None, min_calls: int, config: Path | None) -> None:
    """Suggest guards that recorded calls have always kept to, and scopes that no call needed.

    It looks at the domains, folders and amounts in the arguments of calls that ran or that a person was asked about.
    Observe mode is a good time to collect them. Nothing is written: copy what you want into your configuration.

    Example: assent policy suggest --since 30d > suggested.yaml
    """
    from assent.cli import policy_history

    policy_history.suggest(since, min_calls, config)


@policy.command(short_help="Run cases: principal, tool, arguments, and the expected decision.")
@click.argument("files", nargs=-1, required=True, type=EXISTING_FILE)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@config_option
@click.pass_context
def test(ctx: click.Context, files: tuple[Path, ...], as_json: bool, config: Path | None) -> None:
    """Run cases from YAML files: principal, tool, arguments, and the expected decision.

    Exit code 0: all cases hold; 1: some do not.

    Example: assent policy test policies/cases.yaml
    """
    from assent.cli import policy_test

    policy_test.test(ctx, files, as_json, config)


def _facts_of(policy: Policy, loaded: LoadedPolicies) -> dict[str, Any]:
    from assent.rules.policy.schema import OTHER_ACTIONS

    engine = loaded.engine
    tools = [name for name, tool in loaded.catalogue.tools.items() if policy in engine.of_tool(tool).policies.values()]
    requests = [
        f"{action} ({kind})"
        for action, kinds in OTHER_ACTIONS.items()
        for kind in kinds
        if any(policy in part.policies.values() for part in engine.beside(action, kind).values())
    ]
    return {
        "id": policy.id,
        "effect": policy.effect,
        "decides": "each call" if policy.references.needs_call else "what is listed",
        "tools": sorted(tools),
        "requests": requests,
        "where": policy.where,
    }


def _check_line(one: dict[str, Any]) -> str:
    names = [*one["tools"][:_MOST_NAMED], *(["…"] if len(one["tools"]) > _MOST_NAMED else [])]
    tools = f"{counted(len(one['tools']), 'tool')}: {', '.join(names)}" if names else ""
    applies = "; ".join(filter(None, (tools, ", ".join(one["requests"])))) or "NOTHING: no tool or request matches it"
    return f"{one['id']}  ({one['effect']}, decides {one['decides']})  {one['where']}\n    applies to {applies}"


def _check_summary(found: list[dict[str, Any]], idle: list[dict[str, Any]], loaded: LoadedPolicies) -> str:
    count = "1 policy" if len(found) == 1 else f"{len(found)} policies"
    unused = f"{len(idle)} without anything to apply to" if idle else "all apply to something"
    return f"{count}, {counted(len(loaded.catalogue.tools), 'tool')}; {unused}"


def _comparison_json(found: Comparison) -> dict[str, Any]:
    return {
        "examined": found.examined,
        "complete": found.complete,
        "only_before": found.only_before,
        "only_after": found.only_after,
        "differences": [
            {
                "before": _decision(one.before),
                "after": _decision(one.after),
                "applies_to": one.targets,
                "example": one.example,
            }
            for one in found.differences
        ],
    }


def _decision(verdict: PolicyVerdict) -> dict[str, Any]:
    return {"decision": verdict.effect, "policies": _ids(verdict)}


def _ids(verdict: PolicyVerdict) -> list[str]:
    return list(dict.fromkeys(one.id for one in verdict.denied or verdict.approvals))


def _comparison_text(found: Comparison) -> str:
    extent = "every combination" if found.complete else "not every combination"
    count = len(found.differences)
    head = f"{found.examined:,} requests compared ({extent}): {count or 'no'} difference{'' if count == 1 else 's'}"
    lines = [head]
    for name, tools in (("OLD", found.only_before), ("NEW", found.only_after)):
        lines += [f"Only in {name}, not compared: {_tool_names(tools)}"] if tools else []
    for one in found.differences[:_MOST_SHOWN]:
        lines += ["", *_difference_lines(one)]
    if count > _MOST_SHOWN:
        lines += ["", f"{count - _MOST_SHOWN} more differences: see --json"]
    return "\n".join(lines)


def _difference_lines(one: Difference) -> list[str]:
    before, after = (
        f"{side.effect} ({', '.join(_ids(side))})" if _ids(side) else side.effect for side in (one.before, one.after)
    )
    return [
        f"{before}  ->  {after}",
        f"    for      {_tool_names(one.targets)}",
        f"    example  {_example(one.example)}",
    ]


def _example(example: dict[str, Any]) -> str:
    """One request on one line: the tool with its arguments, and who calls."""
    given = dict(example)
    what = given.pop("tool", None) or given.pop("request")
    kind, mode, arguments = given.pop("kind"), given.pop("mode"), given.pop("arguments", {})
    inside = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    who = ", ".join([kind, mode, *(f"{name} {value}" for name, value in given.items())])
    return f"{what}({inside}) by {who}"


def _tool_names(names: list[str]) -> str:
    """The names of tools; one that stands for a tier and a risk is described."""
    from assent.rules.policy.comparison import ANY

    pairs = [(name, name.removeprefix(ANY).partition(".")) for name in names]
    names = [f"any {tier} tool of {risk} risk" if name.startswith(ANY) else name for name, (tier, _, risk) in pairs]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _verdict_json(verdict: PolicyVerdict, applying: list[Policy]) -> dict[str, Any]:
    return {
        "decision": verdict.effect,
        "denied": [{"policy": one.id, "reason": one.reason} for one in verdict.denied],
        "approvals": [{"policy": one.id, "reason": one.reason, "by": one.by} for one in verdict.approvals],
        "applying": [{"policy": one.id, "where": one.where, "text": one.text} for one in applying],
    }


def _verdict_text(call: Call, verdict: PolicyVerdict, applying: list[Policy]) -> str:
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
