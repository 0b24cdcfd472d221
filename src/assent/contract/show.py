"""Formats a contract as plain text for people.

One line for each field. A value that follows from the tier, the risk or the name is marked `(default)`.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from typing import Any

from assent.contract.contradictions import exception_of
from assent.contract.fields import FlowArguments, format_duration
from assent.contract.model import Contract
from assent.contract.reader import read_contract
from assent.contract.tiers import Risk
from assent.contract.tool_listing import steps_up

_NUMBER = ("a number is expected", "Write one, such as 20 or 12.50")
_WHOLE = ("a whole number is expected", "Write one, such as 20")
_LIST = ("a list is expected", "Write it in brackets, such as [one, two]")
_KEYS = ("a set of keys is expected", "Write it as {{key: value}}")
_TRUTH = ("true or false is expected", "Write one of them")

_KINDS: dict[str, tuple[str, str]] = {
    "missing": ("it is required", "Add it"),
    "tuple_type": _LIST,
    "list_type": _LIST,
    "dict_type": _KEYS,
    "model_type": _KEYS,
    "model_attributes_type": _KEYS,
    "string_type": ("text is expected", 'Write it in quotes, such as "text"'),
    "bool_type": _TRUTH,
    "bool_parsing": _TRUTH,
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "decimal_type": _NUMBER,
    "decimal_parsing": _NUMBER,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "greater_than": ("it is too small", "Write a number greater than {gt}"),
    "greater_than_equal": ("it is too small", "Write a number of {ge} or more"),
    "less_than": ("it is too large", "Write a number less than {lt}"),
    "less_than_equal": ("it is too large", "Write a number of {le} or less"),
    "string_too_short": ("it is too short", "Write at least {min_length} characters"),
    "string_too_long": ("it is too long", "Write at most {max_length} characters"),
    "too_short": ("it has too few entries", "Write at least {min_length}"),
    "literal_error": ("this value is not allowed", "Write {expected}"),
    "enum": ("this value is not allowed", "Write {expected}"),
}
_ADDRESS = ("this is not an address", "Write one that begins with http:// or https://")
_FORMS: dict[str, tuple[str, str]] = {
    "url": _ADDRESS,
    "base_url": _ADDRESS,
    "public_url": _ADDRESS,
    "jwks_url": _ADDRESS,
    "currency": ("this is not a currency", "Write its code, such as EUR"),
}
_NAME = ("this is not a valid name", "Use 1 to 40 letters, digits, underscores and hyphens")


def explain(one: Any, keys: Iterable[str] = ()) -> tuple[str, str]:
    """What is wrong and what to do, for one validation error; `keys` are the valid keys at its position."""
    kind, ctx, loc = one["type"], one.get("ctx", {}), one["loc"]
    if kind == "extra_forbidden":
        return "there is no such key", nearest(str(loc[-1]), list(keys))
    if kind == "string_pattern_mismatch":
        return _NAME if loc[-1] == "[key]" else _FORMS.get(str(loc[-1]), ("this value is not allowed", "Correct it"))
    if kind == "value_error":
        return str(ctx["error"]), ""
    message, remedy = _KINDS.get(kind, (one["msg"][:1].lower() + one["msg"][1:], "Correct it"))
    return message, remedy.format(**ctx)


def nearest(key: str, names: list[str]) -> str:
    """The valid key that was probably meant, or all valid keys."""
    close = difflib.get_close_matches(key[:100], names, n=1)
    return f"Did you mean {close[0]}?" if close else "The keys here are " + ", ".join(names)


MARK = "(default)"
_WIDTH = 18
_PEOPLE = {
    "none": "no person is asked",
    "host": "the host asks",
    "user": "a user approves",
    "approver": "approvers approve",
}
_RECOVERY = {
    "none": "at most once; an unknown end stays in doubt",
    "keyed": "run again with the same key",
    "reconcile": "looked up first, then settled or run again",
    "natural": "harmless to repeat",
}


def show(contract: Contract) -> str:
    """The whole contract as plain text without a final newline."""
    lines = [f"{contract.name}: {_text(contract.title)}"]
    if exception := exception_of(contract):
        lines.append(f"  {'Exception':<{_WIDTH}}{_text(exception)}")
    implied = _default_values(contract)
    for name, values in contract_lines(contract).items():
        mark = f"  {MARK}" if name in implied and implied[name] == getattr(contract, name) else ""
        first, *more = values or ["none"]
        lines.append(f"  {name.replace('_', ' ').capitalize():<{_WIDTH}}{first}{mark}")
        lines += [f"  {'':<{_WIDTH}}{line}" for line in more]
    lines.append(f"  {'Digest':<{_WIDTH}}{contract.digest}")
    return "\n".join(lines)


def _default_values(contract: Contract) -> dict[str, Any]:
    """The values that follow from the tier, and from tier and risk, if nothing else is declared."""
    tier = {"side_effect": contract.side_effect}
    bare = read_contract(contract.name.replace("*", "x"), {**tier, "risk": contract.risk})
    follows = {name: getattr(bare, name) for name in ("autonomous", "confirmation", "audit_event", "idempotency")}
    return {**follows, "risk": read_contract(contract.name.replace("*", "x"), tier).risk}


def contract_lines(c: Contract) -> dict[str, list[str]]:
    """Every field in the order in which people ask about them: the thirteen main fields first."""
    return {
        "description": [_text(c.description)] if c.description else [],
        "category": [" — ".join(filter(None, (c.category, _text(c.category_label or ""))))] if c.category else [],
        "side_effect": [c.side_effect.value + (", overwrites existing data" if c.overwrites else "")],
        "risk": [f"{c.risk.value} ({c.risk.number} of 5)"],
        "autonomous": ["yes" if c.autonomous else "no"],
        "confirmation": [_confirmation(c)],
        "step_up": [_step_up(c)],
        "input": schema_lines(c.input),
        "output": schema_lines(c.output),
        "permissions": list(c.permissions),
        "side_effects": [_text(effect) for effect in c.side_effects],
        "audit_event": [c.audit_event],
        "failure_modes": [_failure(code, c) for code in c.failure_modes],
        **_rest(c),
    }


def _rest(c: Contract) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {"idempotency": _idempotency(c), "dry_run": [_dry_run(c)]}
    if c.estimate:
        fields["estimate"] = [f"{c.estimate.tool}, the price at {c.estimate.amount}"]
    if c.cost:
        fields["cost"] = [f"the argument {c.cost.amount}" + (f" in {c.cost.currency}" if c.cost.currency else "")]
    if c.natural:
        until = f" until {c.natural.until}" if c.natural.until else ""
        fields["natural"] = [f"the same {' and '.join(c.natural.by)} return the same result{until}"]
    for name in ("secrets", "selects", "produces"):
        if getattr(c, name):
            fields[name] = [", ".join(getattr(c, name))]
    if c.events:
        fields["events"] = [f"{name} for each {pointer} of the result" for name, pointer in c.events.items()]
    if c.bulk is not None:
        fields["bulk"] = [f"more than {c.bulk} items are ambiguous"]
    if c.open_world is not None:
        fields["open_world"] = ["yes" if c.open_world else "no"]
    if c.activity is not None:
        fields["activity"] = [_text(c.activity)]
    if c.visibility is not None:
        fields["visibility"] = [c.visibility]
    for name in ("labels", "hints"):
        if given := getattr(c, name).model_dump(exclude_none=True):
            fields[name] = [f"{key.replace('_', ' ')}: {_flag(value)}" for key, value in given.items()]
    if c.flow is not None:
        fields["flow"] = _flow(c.flow)
    if c.meta:
        fields["meta"] = [f"{_text(key)}: {json.dumps(value)}" for key, value in c.meta.items()]
    return fields


def _flow(flow: FlowArguments) -> list[str]:
    given = flow.model_dump(exclude_none=True)
    lines = [f"not checked, because {_text(flow.exempt)}"] if flow.exempt else []
    return lines + [f"{role}: {', '.join(given[role])}" for role in given if role != "exempt" and given[role]]


def _confirmation(c: Contract) -> str:
    confirmation = c.confirmation
    text = _PEOPLE[confirmation.by]
    if confirmation.by in ("user", "approver"):
        who = f"{confirmation.quorum} " if confirmation.quorum > 1 else ""
        when = "when the call is ambiguous" if c.autonomous else "before every call"
        text = f"{who}{text} {when}, within {format_duration(confirmation.expires)}"
        if c.asked_by(True, "approver") != confirmation.by:
            text += "; for agents over HTTP as configured (defaults.confirmation.critical)"
    return f"{text}, because {_text(confirmation.because)}" if confirmation.because else text


def _step_up(c: Contract) -> str:
    if c.step_up is None:
        return "as configured for critical calls (defaults.step_up)" if c.risk is Risk.CRITICAL else "none"
    demands = [f"a login within the last {format_duration(c.step_up.max_age)}"] if c.step_up.max_age else []
    if c.step_up.acr:
        demands.append(f"of class {' or '.join(c.step_up.acr)}")
    when = "always" if steps_up(c) == "always" else f"when {_text(c.step_up.when)}"
    return f"{when}: {', '.join(demands)}"


def _failure(code: str, c: Contract) -> str:
    mode = c.failure_modes[code]
    effect = {"no_effect": "nothing was done", "definite": "it failed", "unknown": "the effect is unknown"}
    title = f", {_text(mode.title)}" if mode.title else ""
    return f"{code} ({mode.status}): {effect[mode.outcome]}{title}"


def _idempotency(c: Contract) -> list[str]:
    i = c.idempotency
    lines = [
        f"{i.recovery}: {_RECOVERY[i.recovery]}",
        f"key {i.key}" + (f", argument {i.argument}" if i.argument else ""),
    ]
    if i.forward:
        lines.append(f"the key is passed on as {i.forward}")
    if i.retention:
        lines.append(f"results are kept for {format_duration(i.retention)}")
    if i.lookup:
        lines.append(f"looked up with {i.lookup.tool}, at {i.lookup.status}")
    return lines


def _dry_run(c: Contract) -> str:
    d = c.dry_run
    if d.mode == "none":
        return "none"
    simulated = ", a simulated preview counts" if d.simulated else ""
    return f"{d.mode}, requested with {d.argument}, valid for {format_duration(d.within)}{simulated}"


def schema_lines(schema: dict[str, Any] | None) -> list[str]:
    if schema is None:
        return ["from the tool's own definition"]
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
    """Text on one line, escaped as in JSON if it is not printable."""
    return text if text.isprintable() else json.dumps(text)[1:-1]
