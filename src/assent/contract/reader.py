"""Reads a contract from declared fields, and explains every fault in them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any, get_args

from pydantic import ValidationError

from assent.contract.model import Contract
from assent.errors import ContractError, Fault

Locate = Callable[[tuple[Any, ...]], tuple[str, int]]

_DERIVED = {"title", "risk", "autonomous", "confirmation", "idempotency", "audit_event"}
_EXPECTED = {
    "bool_type": "true or false",
    "int_type": "a whole number",
    "string_type": "text",
    "string_unicode": "text",
    "dict_type": "a set of fields",
    "model_type": "a set of fields",
    "greater_than_equal": "a number of {ge} or more",
    "less_than_equal": "a number of {le} or less",
    "string_too_short": "text that is not empty",
    "string_too_long": "text of at most {max_length} characters",
    "too_short": "a list that is not empty",
}
_PATTERNS = {
    "currency": "the code of a currency in letters, such as EUR",
    "name": "a tool name: 1 to 128 letters, digits, underscores, dots and hyphens",
    "failure_modes": "a code of lower-case letters, digits and underscores",
}
_POINTERS = {"amount": "the place of the amount in the arguments or the estimate, such as /amount"}
"""Texts that people take for values."""


def no_location(_: tuple[Any, ...]) -> tuple[str, int]:
    """The location of a field that was not read from a file."""
    return "", 0


def read_contract(name: str, fields: Mapping[str, Any], locate: Locate = no_location) -> Contract:
    """Read the contract that these fields declare; raises ContractError with every fault and its location."""
    strange = [key for key in fields if not isinstance(key, str)]
    if strange:
        message = f"field names must be text, not {_show_value(strange[0])}"
        raise ContractError(_fault(str(name), (), message, "Correct it", locate))
    try:
        return Contract.model_validate({**fields, "name": name}, by_alias=True, by_name=False)
    except ValidationError as error:
        raise ContractError(_faults(str(name)[:128], fields, error, locate)) from None


def _faults(name: str, fields: Mapping[str, Any], error: ValidationError, locate: Locate) -> list[Fault]:
    faults: list[Fault] = []
    for one in error.errors(include_url=False):
        loc = tuple(part for part in one["loc"] if part != "[key]")
        if loc and loc[0] in _DERIVED and loc[0] not in fields:
            continue  # It could not be derived because another field is wrong.
        if one["type"] == "contradiction":
            for at, message, remedy in one["ctx"]["found"]:
                faults.append(_fault(name, tuple(at.split(".")), message, remedy, locate))
            continue
        faults.append(_fault(name, loc, *_explain(one, loc), locate))
    return faults


def _fault(name: str, loc: tuple[Any, ...], message: str, remedy: str, locate: Locate) -> Fault:
    file, line = locate(loc)
    field = ".".join([name, *(str(part)[:128] for part in loc if part != "name" or len(loc) > 1)])
    return Fault(message, remedy, field, file, line)


def _explain(one: Any, loc: tuple[Any, ...]) -> tuple[str, str]:
    kind, ctx = one["type"], one.get("ctx", {})
    if kind == "extra_forbidden":
        return "there is no such field", _nearest(str(loc[-1]), loc[:-1])
    if kind == "missing":
        tiers = "Write one of read, compute, write, share_export, external_spend, destructive"
        return "it is required", tiers if loc == ("side_effect",) else "Add it"
    if kind in ("enum", "literal_error"):
        return f"{_show_value(one['input'])} is not allowed here", f"Write {ctx['expected']}"
    if kind == "value_error":
        return str(ctx["error"]), "Correct the schema" if loc[-1] in ("input", "output") else ""
    if kind == "string_pattern_mismatch":
        form = _PATTERNS.get(str(loc[0])) or _PATTERNS.get(str(loc[-1]), "text without blanks")
        return f"{_show_value(one['input'])} is not allowed here", f"Write {form}"
    if kind == "string_type" and loc[-1] in _POINTERS:
        return f"{_show_value(one['input'])} is not allowed here", f"Write {_POINTERS[loc[-1]]}"
    if kind in _EXPECTED:
        return f"{_show_value(one['input'])} is not allowed here", f"Write {_EXPECTED[kind].format(**ctx)}"
    return f"{one['msg'][:1].lower()}{one['msg'][1:]}, not {_show_value(one['input'])}", "Correct it"


def _show_value(value: Any) -> str:
    text = repr(value[:60] if isinstance(value, str) else value)
    return text if len(text) <= 60 else text[:57] + "..."


def _nearest(key: str, path: tuple[Any, ...]) -> str:
    names = [name for name in names_at(Contract, path) if name != "name"]
    close = difflib.get_close_matches(key[:100], names, n=1)
    return f"Did you mean {close[0]}?" if close else "Remove it; the fields are " + ", ".join(names)


def names_at(model: Any, path: tuple[Any, ...]) -> list[str]:
    """The field names at a path in a model, as a file writes them."""
    for part in path:
        known = getattr(model, "model_fields", {})
        if part in known:
            model = _model_in(known[part].annotation)
    return [field.alias or name for name, field in getattr(model, "model_fields", {}).items()]


def _model_in(annotation: Any) -> Any:
    """The model in an annotation: the annotation itself, an optional one, or the value type of a mapping."""
    if hasattr(annotation, "model_fields"):
        return annotation
    return next((model for part in get_args(annotation) if (model := _model_in(part)) is not None), None)
