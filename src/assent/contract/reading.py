"""How do declared fields become a contract, and what do we say when they do not?"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from assent.contract.model import Contract
from assent.errors import ContractError, Fault

Locate = Callable[[tuple[Any, ...]], tuple[str, int]]

_DERIVED = {"title", "risk", "autonomous", "confirmation", "idempotency", "audit_event"}


def nowhere(_: tuple[Any, ...]) -> tuple[str, int]:
    """The place of a field that was not read from a file."""
    return "", 0


def read_contract(name: str, fields: Mapping[str, Any], locate: Locate = nowhere) -> Contract:
    """The contract these fields declare; raises ContractError with every fault, each in its place."""
    try:
        return Contract(**{**fields, "name": name})
    except ValidationError as error:
        raise ContractError(_faults(name, fields, error, locate)) from None
    except TypeError:
        raise ContractError(Fault(f"the fields of {name} must have names that are text")) from None


def _faults(name: str, fields: Mapping[str, Any], error: ValidationError, locate: Locate) -> list[Fault]:
    faults: list[Fault] = []
    for one in error.errors(include_url=False):
        loc = tuple(part for part in one["loc"] if not str(part).startswith("function-"))
        if one["type"] == "missing" and loc and loc[0] in _DERIVED:
            continue
        if one["type"] == "contradiction":
            for at, message, remedy in one["ctx"]["found"]:
                faults.append(_fault(name, tuple(at.split(".")), message, remedy, locate))
            continue
        faults.append(_fault(name, loc, *_explain(one, loc), locate))
    return faults


def _fault(name: str, loc: tuple[Any, ...], message: str, remedy: str, locate: Locate) -> Fault:
    file, line = locate(loc)
    field = ".".join([name, *(str(part) for part in loc)])
    return Fault(message, remedy, field, file, line)


def _explain(one: Any, loc: tuple[Any, ...]) -> tuple[str, str]:
    kind, ctx = one["type"], one.get("ctx", {})
    if kind == "extra_forbidden":
        return "there is no such field", _nearest(str(loc[-1]), loc[:-1])
    if kind == "missing":
        return (
            "it is required",
            "Say one of read, compute, write, share_export, external_spend, destructive"
            if loc == ("side_effect",)
            else "Add it",
        )
    if kind == "enum" or kind == "literal_error":
        return f"{one['input']!r} is not known here", f"Write {ctx['expected']}"
    if loc == ("name",):
        return (
            f"{one['input']!r} is not a tool name",
            "Use 1 to 128 letters, digits, underscores, dots and hyphens",
        )
    if kind == "value_error":
        return str(ctx["error"]), ""
    return one["msg"][:1].lower() + one["msg"][1:] + f", not {_shown(one['input'])}", ""


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _nearest(key: str, path: tuple[Any, ...]) -> str:
    model: Any = Contract
    for part in path:
        known = getattr(model, "model_fields", {})
        if part not in known:
            return "Remove it"
        model = _model_in(known[part].annotation)
    names = [field.alias or name for name, field in getattr(model, "model_fields", {}).items() if name != "name"]
    close = difflib.get_close_matches(key, names, n=1)
    return f"Did you mean {close[0]}?" if close else "Remove it; the fields are " + ", ".join(names)


def _model_in(annotation: Any) -> Any:
    if hasattr(annotation, "model_fields"):
        return annotation
    return next((part for part in getattr(annotation, "__args__", ()) if hasattr(part, "model_fields")), None)
