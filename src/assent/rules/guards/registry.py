"""The guards by name, and how a line of configuration becomes a guard.

The names are those of the files in `rules/`. A file is imported when its rule is first used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from pydantic import ValidationError

from assent.contract.show import explain, nearest
from assent.errors import Fault, SettingsError
from assent.rules.guards import rules as _home
from assent.rules.guards.rule import GuardRule


@cache
def rule_names() -> tuple[str, ...]:
    """The names of all guards, sorted."""
    return tuple(sorted(module.name for module in iter_modules(_home.__path__)))


@cache
def rule_class(name: str) -> type[GuardRule]:
    """The guard of this name: the one class that its file defines."""
    module = import_module(f"{_home.__name__}.{name}")
    found: list[type[GuardRule]] = [
        one
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, GuardRule) and one.__module__ == module.__name__
    ]
    return found[-1]


def build_guard(given: Mapping[str, Any]) -> GuardRule:
    """Build the guard that a line of configuration describes: `{match: ..., rule: NAME, ...options}`."""
    fields = dict(given)
    name = fields.pop("rule", None)
    if not isinstance(name, str) or name not in rule_names():
        raise SettingsError(_unknown(name))
    rule = rule_class(name)
    try:
        return rule(**fields)
    except ValidationError as error:
        raise SettingsError([_fault(rule, one) for one in _own_errors(error.errors(include_url=False))]) from None


def _own_errors(errors: Sequence[Any]) -> list[Any]:
    """The errors without those that only follow from others: a list whose items are wrong counts as too short."""
    places = [one["loc"] for one in errors]
    return [
        one
        for one in errors
        if one["type"] != "too_short" or not any(place[:-1] == one["loc"] for place in places if place)
    ]


def _unknown(name: Any) -> Fault:
    listed = "`assent rule --list guards` lists them"
    if name is None:
        return Fault("it names no rule", f"Add `rule: NAME`; {listed}", "rule")
    close = nearest(str(name), list(rule_names()))
    return Fault(f"there is no guard {str(name)[:60]!r}", close if close.startswith("Did") else listed, "rule")


def _fault(rule: type[GuardRule], one: Any) -> Fault:
    """A fault with the place of the option; a check of the whole line has no place of its own."""
    keys = ["rule", *rule.model_fields] if len(one["loc"]) == 1 else _keys_below(rule, one["loc"])
    return Fault(*explain(one, keys), ".".join(map(str, one["loc"])))


def _keys_below(rule: type[GuardRule], path: tuple[Any, ...]) -> list[str]:
    model: Any = rule
    for part in path[:-1]:
        field = getattr(model, "model_fields", {}).get(part)
        model = _section_in(field.annotation) if field is not None else model
    return list(getattr(model, "model_fields", {}))


def _section_in(annotation: Any) -> Any:
    if hasattr(annotation, "model_fields"):
        return annotation
    return next((found for part in getattr(annotation, "__args__", ()) if (found := _section_in(part))), None)
