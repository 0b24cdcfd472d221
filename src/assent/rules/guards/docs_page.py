"""Explains a guard from its file."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import Any

from assent.rules.guards.rule import GuardRule

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
        *(f"  {shown(one)}" for one in rule.examples.passes),
        "Objects to:",
        *(f"  {shown(one)}" for one in rule.examples.objects),
    ]
    return "\n".join(lines)


def options_of(rule: type[GuardRule]) -> list[tuple[str, str]]:
    """The options of a guard beside those of every guard, each with its description."""
    own = [(field.alias or name, field) for name, field in rule.model_fields.items() if name not in COMMON_OPTIONS]
    return [(name, f"{field.description}{' Required.' if field.is_required() else ''}") for name, field in own]


def example_line(rule: type[GuardRule]) -> str:
    """The example configuration as one line of `guards:`."""
    return json.dumps({"rule": rule.rule, **rule.examples.options})


def shown(value: Mapping[str, Any]) -> str:
    """JSON in ASCII, so that invisible characters are seen; a long text is cut."""
    text = json.dumps(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
