"""The reference page of guards."""

from __future__ import annotations

from assent.guards.docs_page import common_options, reference
from assent.guards.registry import rule_names


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
    return f"{head}{common_options()}\n\n## Guards by name\n\n{reference()}\n"
