"""The reference page of lint rules."""

from __future__ import annotations

import json

from assent.checks.lint.rule import Rule
from assent.checks.lint.run import all_rules


def lint_page() -> str:
    """Every rule with its reason, its fix and an example."""
    rules = all_rules()
    rows = "".join(f"| [{rule.name}](#{rule.name}) | {rule.severity} | {rule.summary} |\n" for rule in rules.values())
    head = (
        "# Lint rules\n\n"
        "What [`assent lint`](../lint.md) checks in tool definitions, contracts and configurations. `assent rule NAME` "
        "prints the same text with more examples.\n\n"
        f"| {len(rules)} rules | severity | about |\n|---|---|---|\n"
    )
    return head + rows + "".join(_section(rule) for rule in rules.values())


def _section(rule: Rule) -> str:
    lines = ["", f"## {rule.name}", "", f"{rule.summary} **{rule.severity.capitalize()}**{_where(rule)}", ""]
    lines += [f"- Why: {rule.why}", f"- Fix: {rule.fix}"]
    lines += ["- `assent lint --fix` fixes it in files, where that is safe."] if rule.mend else []
    found = json.dumps(rule.flags[0], ensure_ascii=True)
    return "\n".join([*lines, "", "Found in:", "", "```json", found, "```", ""])


def _where(rule: Rule) -> str:
    if rule.profiles:
        return f" under `--profile {' or '.join(rule.profiles)}`."
    return f", except under `--profile {' or '.join(rule.except_profiles)}`." if rule.except_profiles else "."
