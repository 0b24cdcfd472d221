"""`assent policy check`: validates the policies and says what each applies to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from assent.cli.shared.policies import LoadedPolicies, load_policies_of
from assent.core.question import counted
from assent.rules.policy.schema import OTHER_ACTIONS
from assent.rules.policy.source import Policy

_MOST_NAMED = 6


def check(ctx: click.Context, as_json: bool, config: Path | None) -> None:
    loaded = load_policies_of(config)
    found = [_described(one, loaded) for one in loaded.engine.policies]
    idle = [one for one in found if not one["tools"] and not one["requests"]]
    if as_json:
        click.echo(json.dumps({"policies": found, "unused": [one["id"] for one in idle]}, indent=2))
    else:
        for one in found:
            click.echo(_line(one))
        click.echo(_summary(found, idle, loaded), err=True)
    ctx.exit(1 if idle else 0)


def _described(policy: Policy, loaded: LoadedPolicies) -> dict[str, Any]:
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


def _line(one: dict[str, Any]) -> str:
    names = [*one["tools"][:_MOST_NAMED], *(["…"] if len(one["tools"]) > _MOST_NAMED else [])]
    tools = f"{counted(len(one['tools']), 'tool')}: {', '.join(names)}" if names else ""
    applies = "; ".join(filter(None, (tools, ", ".join(one["requests"])))) or "NOTHING: no tool or request matches it"
    return f"{one['id']}  ({one['effect']}, decides {one['decides']})  {one['where']}\n    applies to {applies}"


def _summary(found: list[dict[str, Any]], idle: list[dict[str, Any]], loaded: LoadedPolicies) -> str:
    count = "1 policy" if len(found) == 1 else f"{len(found)} policies"
    unused = f"{len(idle)} without anything to apply to" if idle else "all apply to something"
    return f"{count}, {counted(len(loaded.catalogue.tools), 'tool')}; {unused}"
