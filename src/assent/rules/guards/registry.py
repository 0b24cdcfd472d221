"""The guards by name, how a line of configuration becomes a guard, and how a guard is explained.

The names are those of the files in `rules/`. A file is imported when its rule is first used.
"""

from __future__ import annotations

import inspect
import json
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


COMMON_OPTIONS = tuple(GuardRule.model_fields)
_LONGEST = 150


def summary_of(rule: type[GuardRule]) -> str:
    """The first sentence of a guard's documentation."""
    return " ".join(inspect.cleandoc(rule.__doc__ or "").split("\n\n")[0].split())


def explanation_of(rule: type[GuardRule]) -> str:
    """A guard for the command line: what it checks, its options, an example configuration, and examples of calls."""
    options = [f"  {name}: {text}" for name, text in options_of(rule)]
    usual = f"Checks the fields {', '.join(rule.usual_fields)}, unless `fields` names others."
    lines = [
        f"{rule.rule} (guard{', also on results' if rule.on_results else ''}{', can mask' if rule.masks else ''})",
        "",
        inspect.cleandoc(rule.__doc__ or ""),
        *(["", usual] if rule.usual_fields else []),
        *(["", "Options:", *options] if options else []),
        "",
        "Options of every guard:",
        *(f"  {name}: {GuardRule.model_fields[name].description}" for name in COMMON_OPTIONS),
        "",
        "Example:",
        f"  {example_line(rule)}",
        "Passes:",
        *(f"  {example_text(one)}" for one in rule.examples.passes),
        "Objects to:",
        *(f"  {example_text(one)}" for one in rule.examples.objects),
    ]
    return "\n".join(lines)


def options_of(rule: type[GuardRule]) -> list[tuple[str, str]]:
    """The options of a guard beside those of every guard, each with its description."""
    own = [(field.alias or name, field) for name, field in rule.model_fields.items() if name not in COMMON_OPTIONS]
    return [(name, f"{field.description}{' Required.' if field.is_required() else ''}") for name, field in own]


def example_line(rule: type[GuardRule]) -> str:
    """The example configuration as one line of `guards:`."""
    return json.dumps({"rule": rule.rule, **rule.examples.options})


def example_text(value: Mapping[str, Any]) -> str:
    """JSON in ASCII, so that invisible characters are seen; a long text is cut."""
    text = json.dumps(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
