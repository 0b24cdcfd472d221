"""Rules on arguments and results, and how configuration builds them."""

from assent.rules.guards.registry import build_guard, rule_class, rule_names
from assent.rules.guards.rule import GuardRule

__all__ = ["GuardRule", "build_guard", "rule_class", "rule_names"]
