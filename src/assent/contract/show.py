"""How does a person read a contract?

One line for each promise. What nobody had to declare, because it follows from the tier, the risk or the name, is
marked `(default)`.
"""

from __future__ import annotations

import json
from typing import Any

from assent.contract.durations import format_duration
from assent.contract.model import Contract
from assent.contract.reader import read_contract
from assent.contract.wire import steps_up

MARK = "(default)"
_WIDTH = 18
_PEOPLE = {
    "none": "nobody is asked",
    "host": "the host asks",
    "user": "a user says yes",
    "approver": "approvers say yes",
}
_RECOVERY = {
    "none": "at most once; an unknown end stays in doubt",
    "keyed": "run again under the same key",
    "reconcile": "looked up first, then settled or run again",
    "natural": "harmless to repeat",
}


def show(contract: Contract) -> str:
    """The whole contract as plain text, ending without a newline."""
    lines = [f"{contract.name}: {_text(contract.title)}"]
    implied = _implied(contract)
    for name, said in _fields(contract).items():
        mark = f"  {MARK}" if name in implied and implied[name] == getattr(contract, name) else ""
        first, *more = said or ["none"]
        lines.append(f"  {name.replace('_', ' ').capitalize():<{_WIDTH}}{first}{mark}")
        lines += [f"  {'':<{_WIDTH}}{line}" for line in more]
    lines.append(f"  {'Digest':<{_WIDTH}}{contract.digest}")
    return "\n".join(lines)


def _implied(contract: Contract) -> dict[str, Any]:
    """What follows from the tier, and from tier and risk, where nothing else is declared."""
    tier = {"side_effect": contract.side_effect}
    bare = read_contract(contract.name, {**tier, "risk": contract.risk})
    follows = {name: getattr(bare, name) for name in ("autonomous", "confirmation", "audit_event", "idempotency")}
    return {**follows, "risk": read_contract(contract.name, tier).risk}


def _fields(c: Contract) -> dict[str, list[str]]:
    """Every field in the order people ask about them: the thirteen of a tool contract first."""
    return {
        "description": [_text(c.description)] if c.description else [],
        "category": [" — ".join(filter(None, (c.category, _text(c.category_label or ""))))] if c.category else [],
        "side_effect": [c.side_effect.value + (", overwrites what was there" if c.overwrites else "")],
        "risk": [f"{c.risk.value} ({c.risk.number} of 5)"],
        "autonomous": ["yes" if c.autonomous else "no"],
        "confirmation": [_confirmation(c)],
        "step_up": [_step_up(c)],
        "input": _schema(c.input),
        "output": _schema(c.output),
        "permissions": list(c.permissions),
        "side_effects": [_text(effect) for effect in c.side_effects],
        "audit_event": [c.audit_event],
        "failure_modes": [_failure(code, c) for code in c.failure_modes],
        **_rest(c),
    }


def _rest(c: Contract) -> dict[str, list[str]]:
    said: dict[str, list[str]] = {"idempotency": _idempotency(c), "dry_run": [_dry_run(c)]}
    if c.estimate:
        said["estimate"] = [f"{c.estimate.tool}, the price at {c.estimate.amount}"]
    if c.cost:
        said["cost"] = [f"the argument {c.cost.amount}" + (f" in {c.cost.currency}" if c.cost.currency else "")]
    if c.natural:
        until = f" until {c.natural.until}" if c.natural.until else ""
        said["natural"] = [f"the same {' and '.join(c.natural.by)} return the same result{until}"]
    for name in ("secrets", "selects", "produces"):
        if getattr(c, name):
            said[name] = [", ".join(getattr(c, name))]
    if c.bulk is not None:
        said["bulk"] = [f"more than {c.bulk} items are ambiguous"]
    if c.open_world is not None:
        said["open_world"] = ["yes" if c.open_world else "no"]
    if c.activity is not None:
        said["activity"] = [_text(c.activity)]
    if c.visibility is not None:
        said["visibility"] = [c.visibility]
    for name in ("labels", "hints"):
        if given := getattr(c, name).model_dump(exclude_none=True):
            said[name] = [f"{key.replace('_', ' ')}: {_flag(value)}" for key, value in given.items()]
    if c.meta:
        said["meta"] = [f"{_text(key)}: {json.dumps(value)}" for key, value in c.meta.items()]
    return said


def _confirmation(c: Contract) -> str:
    asked = c.confirmation
    said = _PEOPLE[asked.by]
    if asked.by in ("user", "approver"):
        who = f"{asked.quorum} " if asked.quorum > 1 else ""
        when = "when the call is ambiguous" if c.autonomous else "before every call"
        said = f"{who}{said} {when}, within {format_duration(asked.expires)}"
    return f"{said}, because {_text(asked.because)}" if asked.because else said


def _step_up(c: Contract) -> str:
    if c.step_up is None:
        return "none"
    demands = [f"a login of the last {format_duration(c.step_up.max_age)}"] if c.step_up.max_age else []
    if c.step_up.acr:
        demands.append(f"of class {' or '.join(c.step_up.acr)}")
    when = "always" if steps_up(c) == "always" else f"when {_text(c.step_up.when)}"
    return f"{when}: {', '.join(demands)}"


def _failure(code: str, c: Contract) -> str:
    mode = c.failure_modes[code]
    effect = {"no_effect": "nothing was done", "definite": "it failed", "unknown": "nobody knows what was done"}
    title = f", {_text(mode.title)}" if mode.title else ""
    return f"{code} ({mode.status}): {effect[mode.outcome]}{title}"


def _idempotency(c: Contract) -> list[str]:
    i = c.idempotency
    said = [
        f"{i.recovery}: {_RECOVERY[i.recovery]}",
        f"key {i.key}" + (f", argument {i.argument}" if i.argument else ""),
    ]
    if i.forward:
        said.append(f"our key is passed on as {i.forward}")
    if i.retention:
        said.append(f"answers are kept for {format_duration(i.retention)}")
    if i.lookup:
        said.append(f"looked up with {i.lookup.tool}, at {i.lookup.status}")
    return said


def _dry_run(c: Contract) -> str:
    d = c.dry_run
    if d.mode == "none":
        return "none"
    return f"{d.mode}, asked for with {d.argument}, counts for {format_duration(d.within)}"


def _schema(schema: dict[str, Any] | None) -> list[str]:
    if schema is None:
        return ["as the tool's own definition says"]
    named, needed = schema.get("properties"), schema.get("required", [])
    if not isinstance(named, dict) or not named:
        return [json.dumps(schema)]
    return [f"{_text(name)}{'' if name in needed else '?'}: {_type(inner)}" for name, inner in named.items()]


def _type(schema: Any) -> str:
    if not isinstance(schema, dict):
        return "anything" if schema else "nothing"
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))
    kind = schema.get("type")
    if kind == "array" and isinstance(schema.get("items"), dict):
        return f"{_type(schema['items'])}[]"
    return " | ".join(kind) if isinstance(kind, list) else kind or json.dumps(schema)


def _flag(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else _text(value)


def _text(text: str) -> str:
    """Text on one line, as it would stand in JSON where it is not plain."""
    return text if text.isprintable() else json.dumps(text)[1:-1]
