"""Explains guards from their files: for the command line, and as the reference in the documentation."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import Any

from assent.guards.registry import rule_class, rule_names
from assent.guards.rule import GuardRule

_COMMON = tuple(GuardRule.model_fields)
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
        *(f"  {name}: {GuardRule.model_fields[name].description}" for name in _COMMON),
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
    own = [(field.alias or name, field) for name, field in rule.model_fields.items() if name not in _COMMON]
    return [(name, f"{field.description}{' Required.' if field.is_required() else ''}") for name, field in own]


def example_line(rule: type[GuardRule]) -> str:
    """The example configuration as one line of `guards:`."""
    return json.dumps({"rule": rule.rule, **rule.examples.options})


def shown(value: Mapping[str, Any]) -> str:
    """JSON in ASCII, so that invisible characters are seen; a long text is cut."""
    text = json.dumps(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def common_options() -> str:
    """The options of every guard as a table in Markdown."""
    rows = [f"| `{name}` | {GuardRule.model_fields[name].description} |" for name in _COMMON]
    return "\n".join(["| option | |", "|---|---|", *rows])


def reference() -> str:
    """The reference of all guards in Markdown."""
    return "\n\n".join(_section(rule_class(name)) for name in rule_names())


def _section(rule: type[GuardRule]) -> str:
    places = "arguments and results" if rule.on_results else "arguments"
    checks = f"Checks {places}{'; can mask' if rule.masks else ''}."
    if rule.usual_fields:
        checks += f" Without `fields`: {', '.join(f'`{name}`' for name in rule.usual_fields)}."
    rows = [f"| `{name}` | {text} |" for name, text in options_of(rule)]
    table = ["\n".join(["| option | |", "|---|---|", *rows])] if rows else []
    examples = [f"- {example_line(rule)}", *(f"# passes      {shown(one)}" for one in rule.examples.passes)]
    examples += [f"# objects to  {shown(one)}" for one in rule.examples.objects]
    fenced = "\n".join(["```yaml", *examples, "```"])
    return "\n\n".join([f"### {rule.rule}", _paragraphs(rule), checks, *table, fenced])


def _paragraphs(rule: type[GuardRule]) -> str:
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(rule.__doc__ or "").split("\n\n"))
