"""The reference page of guards."""

from __future__ import annotations

import inspect

from assent.rules.guards.registry import COMMON_OPTIONS, example_line, example_text, options_of, rule_class, rule_names
from assent.rules.guards.rule import GuardRule


def guards_page() -> str:
    """Every guard with its options and examples."""
    names = ", ".join(f"[{name}](#{name})" for name in rule_names())
    head = (
        "# Guards\n\n"
        "Rules on arguments and results, written under `guards:` in `assent.yaml`. [Guards](../guards.md) explains how "
        "they work. `assent rule NAME` prints the same text.\n\n"
        f"{len(rule_names())} guards: {names}.\n\n"
        "## Options of every guard\n\n"
    )
    return f"{head}{_common_options()}\n\n## Guards by name\n\n{_reference()}\n"


def _common_options() -> str:
    """The options of every guard as a table in Markdown."""
    rows = [f"| `{name}` | {GuardRule.model_fields[name].description} |" for name in COMMON_OPTIONS]
    return "\n".join(["| option | |", "|---|---|", *rows])


def _reference() -> str:
    """The reference of all guards in Markdown."""
    return "\n\n".join(_section(rule_class(name)) for name in rule_names())


def _section(rule: type[GuardRule]) -> str:
    places = "arguments and results" if rule.on_results else "arguments"
    checks = f"Checks {places}{'; can mask' if rule.masks else ''}."
    if rule.usual_fields:
        checks += f" Without `fields`: {', '.join(f'`{name}`' for name in rule.usual_fields)}."
    rows = [f"| `{name}` | {text} |" for name, text in options_of(rule)]
    table = ["\n".join(["| option | |", "|---|---|", *rows])] if rows else []
    examples = [f"- {example_line(rule)}", *(f"# passes      {example_text(one)}" for one in rule.examples.passes)]
    examples += [f"# objects to  {example_text(one)}" for one in rule.examples.objects]
    fenced = "\n".join(["```yaml", *examples, "```"])
    return "\n\n".join([f"### {rule.rule}", _paragraphs(rule), checks, *table, fenced])


def _paragraphs(rule: type[GuardRule]) -> str:
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(rule.__doc__ or "").split("\n\n"))
