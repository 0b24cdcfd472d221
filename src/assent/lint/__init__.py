"""Is what a server says of its tools complete, consistent and credible?"""

from assent.lint.rule import Example, Finding, Rule, Said
from assent.lint.run import Report, all_rules, lint
from assent.lint.target import Subject, Target

__all__ = ["Example", "Finding", "Report", "Rule", "Said", "Subject", "Target", "all_rules", "lint"]
