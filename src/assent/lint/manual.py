"""How do the rules read as a table in the documentation?"""

from __future__ import annotations

from assent.lint.run import all_rules


def rules_table() -> str:
    """A Markdown table of every rule: name, severity, the profile it needs, what it is about, what to do."""
    lines = ["| rule | severity | profile | about | fix |", "|---|---|---|---|---|"]
    for rule in all_rules().values():
        cells = (f"`{rule.name}`", rule.severity, ", ".join(rule.profiles) or "all", rule.summary, rule.fix)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)
