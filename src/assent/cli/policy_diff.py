"""`assent policy diff`: finds requests that two sets of policies decide differently."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from assent.cli.shared.policies import load_side
from assent.core.policy_verdict import PolicyVerdict
from assent.rules.policy.comparison import ANY, Comparison, Difference, PolicySide, compare

_MOST_NAMED = 6
_MOST_SHOWN = 12


def diff(ctx: click.Context, old: str, new: str, as_json: bool, config: Path | None) -> None:
    before, after = load_side(old, config), load_side(new, config)
    found = compare(PolicySide(before.engine, before.catalogue), PolicySide(after.engine, after.catalogue))
    click.echo(json.dumps(_as_json(found), indent=2) if as_json else _as_text(found))
    ctx.exit(1 if found.differences else 0)


def _as_json(found: Comparison) -> dict[str, Any]:
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


def _as_text(found: Comparison) -> str:
    extent = "every combination" if found.complete else "not every combination"
    count = len(found.differences)
    head = f"{found.examined:,} requests compared ({extent}): {count or 'no'} difference{'' if count == 1 else 's'}"
    lines = [head]
    for name, tools in (("OLD", found.only_before), ("NEW", found.only_after)):
        lines += [f"Only in {name}, not compared: {_named(tools)}"] if tools else []
    for one in found.differences[:_MOST_SHOWN]:
        lines += ["", *_lines(one)]
    if count > _MOST_SHOWN:
        lines += ["", f"{count - _MOST_SHOWN} more differences: see --json"]
    return "\n".join(lines)


def _lines(one: Difference) -> list[str]:
    before, after = (
        f"{side.effect} ({', '.join(_ids(side))})" if _ids(side) else side.effect for side in (one.before, one.after)
    )
    return [f"{before}  ->  {after}", f"    for      {_named(one.targets)}", f"    example  {_example(one.example)}"]


def _described(name: str) -> str:
    tier, _, risk = name.removeprefix(ANY).partition(".")
    return f"any {tier} tool of {risk} risk"


def _example(example: dict[str, Any]) -> str:
    """One request on one line: the tool with its arguments, and who calls."""
    given = dict(example)
    what = given.pop("tool", None) or given.pop("request")
    kind, mode, arguments = given.pop("kind"), given.pop("mode"), given.pop("arguments", {})
    inside = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    who = ", ".join([kind, mode, *(f"{name} {value}" for name, value in given.items())])
    return f"{what}({inside}) by {who}"


def _named(names: list[str]) -> str:
    """The names of tools; one that stands for a tier and a risk is described."""
    names = [_described(name) if name.startswith(ANY) else name for name in names]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
