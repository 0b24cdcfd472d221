"""Linter for tool definitions, contracts and configurations."""

from assent.lint.rule import Example, Finding, Rule
from assent.lint.rule import RawFinding as Said
from assent.lint.run import Report, all_rules, lint
from assent.lint.target import LintedTool as Subject
from assent.lint.target import Target

__all__ = ["Example", "Finding", "Report", "Rule", "Said", "Subject", "Target", "all_rules", "lint"]
