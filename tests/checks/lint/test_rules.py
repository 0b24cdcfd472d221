"""Every rule's own examples, and what a rule must say of itself."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import pytest

from assent.checks.lint import rules as home
from assent.checks.lint.rule import SEVERITIES, Rule
from assent.checks.lint.run import all_rules, lint
from support.documents.lint_examples import target_of

RULES = list(all_rules().values())
FLAGGED = [pytest.param(rule, example, id=f"{rule.name}-{n}") for rule in RULES for n, example in enumerate(rule.flags)]
PASSED = [pytest.param(rule, example, id=f"{rule.name}-{n}") for rule in RULES for n, example in enumerate(rule.passes)]


def found_in(rule: Rule, example: object) -> list[str]:
    target = target_of(example, rule.profiles[0] if rule.profiles else "spec")  # type: ignore[arg-type]
    return [finding.message for finding in lint(target, only=[rule.name]).findings]


@pytest.mark.parametrize(("rule", "example"), FLAGGED)
def test_a_rule_finds_what_its_examples_do_wrong(rule: Rule, example: object) -> None:
    assert found_in(rule, example)


@pytest.mark.parametrize(("rule", "example"), PASSED)
def test_a_rule_leaves_alone_what_its_examples_do_right(rule: Rule, example: object) -> None:
    assert found_in(rule, example) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_says_what_it_is_about(rule: Rule) -> None:
    assert rule.flags and rule.passes
    assert rule.severity in SEVERITIES
    assert (rule.each is None) != (rule.whole is None)
    for sentence in (rule.summary, rule.why, rule.fix):
        assert sentence[0].isupper() or not sentence[0].isalpha()
        assert sentence.endswith("."), sentence


def test_every_check_and_every_repair_belongs_to_a_rule() -> None:
    used = {function for rule in RULES for function in (rule.each, rule.whole, rule.mend)}
    for module in iter_modules(home.__path__):
        functions = vars(import_module(f"{home.__name__}.{module.name}")).items()
        named = {name: one for name, one in functions if name.startswith(("check_", "mend_"))}
        assert named, module.name
        assert [name for name, one in named.items() if one not in used] == []
