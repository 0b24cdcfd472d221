"""Linter for tool definitions, contracts and configurations."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assent.checks.lint.rule import Example, Finding, Rule
    from assent.checks.lint.rule import RawFinding as Said
    from assent.checks.lint.run import Report, all_rules, lint
    from assent.checks.lint.target import LintedTool as Subject
    from assent.checks.lint.target import Target

# Imported when first used: the gateway needs the linter only for definitions that have changed.
_HOMES = {
    "Example": "rule.Example",
    "Finding": "rule.Finding",
    "Report": "run.Report",
    "Rule": "rule.Rule",
    "Said": "rule.RawFinding",
    "Subject": "target.LintedTool",
    "Target": "target.Target",
    "all_rules": "run.all_rules",
    "lint": "run.lint",
}

__all__ = ["Example", "Finding", "Report", "Rule", "Said", "Subject", "Target", "all_rules", "lint"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'assent.checks.lint' has no attribute {name!r}")
    module, _, own_name = _HOMES[name].partition(".")
    return getattr(import_module(f"assent.checks.lint.{module}"), own_name)
