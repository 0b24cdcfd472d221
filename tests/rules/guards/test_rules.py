"""Every guard's own examples, and what a guard must say of itself."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pytest

from assent.rules.guards import GuardRule, build_guard, rule_class, rule_names
from assent.rules.guards.context import NO_CONTEXT, Context
from assent.rules.guards.evaluate import objection_to
from assent.rules.guards.lookups import look_up, lookup_needs

CLASSES = [rule_class(name) for name in rule_names()]
# The examples of `call_rate` say how many calls were made before; a pipeline counts them (test_guard_stage.py).
PLAIN = [one for one in CLASSES if not one.counts]
PASSED = [
    pytest.param(one, example, id=f"{one.rule}-{n}") for one in PLAIN for n, example in enumerate(one.examples.passes)
]
OBJECTED = [
    pytest.param(one, example, id=f"{one.rule}-{n}") for one in PLAIN for n, example in enumerate(one.examples.objects)
]


async def objection(rule: GuardRule, values: Mapping[str, Any]) -> tuple[str, str] | None:
    now = datetime.fromisoformat(values["now"]).timestamp() if "now" in values else 0.0
    context = Context(now=now, tool="tool")
    return objection_to(rule, values, await look_up(lookup_needs(rule, values, context), context))


@pytest.mark.parametrize(("rule", "example"), PASSED)
async def test_a_guard_lets_its_good_examples_pass(rule: type[GuardRule], example: Mapping[str, Any]) -> None:
    assert await objection(build_guard({"rule": rule.rule, **rule.examples.options}), example) is None


@pytest.mark.parametrize(("rule", "example"), OBJECTED)
async def test_a_guard_objects_to_its_bad_examples(rule: type[GuardRule], example: Mapping[str, Any]) -> None:
    found = await objection(build_guard({"rule": rule.rule, **rule.examples.options}), example)
    assert found is not None
    assert found[1] and found[1] != "it could not be checked"


@pytest.mark.parametrize("rule", CLASSES, ids=lambda rule: rule.rule)
def test_a_guard_says_what_it_is_about(rule: type[GuardRule]) -> None:
    assert rule.examples.passes and rule.examples.objects
    summary = inspect.cleandoc(rule.__doc__ or "").split("\n\n")[0]
    assert summary[0].isupper() and summary.endswith("."), summary
    undocumented = [name for name, field in rule.model_fields.items() if not field.description]
    assert not undocumented, undocumented


def test_there_are_enough_guards() -> None:
    assert len(rule_names()) >= 35


async def test_a_rule_that_fails_objects() -> None:
    class Failing(GuardRule):
        """Fails."""

        def denies(self, arguments: Mapping[str, Any], context: Context = NO_CONTEXT) -> tuple[str, str] | None:
            raise RuntimeError

    assert objection_to(Failing(), {}, Context()) == ("", "it could not be checked")
