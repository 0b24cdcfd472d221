"""Table of the rules for the documentation."""

from __future__ import annotations

from assent.lint.run import all_rules


def rules_table() -> str:
    """Return a Markdown table of every rule: name, severity, profile, subject, fix."""
    lines = ["| rule | severity | profile | about | fix | by `--fix` |", "|---|---|---|---|---|---|"]
    for rule in all_rules().values():
        by_itself = "where safe" if rule.mend else "—"
        excepted = f"all but {', '.join(rule.except_profiles)}" if rule.except_profiles else "all"
        profiles = ", ".join(rule.profiles) or excepted
        cells = (f"`{rule.name}`", rule.severity, profiles, rule.summary, rule.fix, by_itself)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)
