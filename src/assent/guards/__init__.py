"""Rules on arguments and results, and how configuration builds them."""

from assent.guards.registry import build_guard, rule_class, rule_names
from assent.guards.rule import GuardRule

__all__ = ["GuardRule", "build_guard", "rule_class", "rule_names"]
