"""How do the rules read as a table in the documentation?"""

from __future__ import annotations

from assent.lint.run import all_rules


def rules_table() -> str:
    """A Markdown table of every rule: name, severity, the profile it needs, what it is about, what is to be done."""
    lines = ["| rule | severity | profile | about | fix | by `--fix` |", "|---|---|---|---|---|---|"]
    for rule in all_rules().values():
        by_itself = "where safe" if rule.mend else "—"
        profiles = ", ".join(rule.profiles) or "all"
        cells = (f"`{rule.name}`", rule.severity, profiles, rule.summary, rule.fix, by_itself)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)
