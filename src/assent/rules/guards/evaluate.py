"""Asks one guard about a call, so that an error in a rule counts as an objection and no check blocks other calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from assent.rules.guards.context import Context
from assent.rules.guards.lookups import Resolve, look_up, lookup_needs
from assent.rules.guards.match import UnreadableInner
from assent.rules.guards.rule import Denial, GuardRule
from assent.rules.guards.workload import PER_VALUE, QUICK, beyond, load_of, owner_of, run_apart

T = TypeVar("T")
NOT_CHECKED = "it could not be checked"


async def check_call(
    rule: GuardRule, values: Mapping[str, Any], context: Context, size: int, resolve: Resolve
) -> Denial | None:
    """The first objection of a guard to a call whose arguments have `size` bytes as JSON."""
    if is_quick(rule, size) and not rule.looks_up:
        return objection_to(rule, values, context)
    try:
        if (reason := await in_time(rule, size, context, lambda: _too_much(rule, values))) is not None:
            return "", reason
        if rule.looks_up:
            needs = await in_time(rule, size, context, lambda: lookup_needs(rule, values, context))
            context = await look_up(needs, context, resolve)
    except Exception:  # What cannot be looked up cannot be checked.
        return "", NOT_CHECKED
    return await in_time(rule, size, context, lambda: objection_to(rule, values, context))


def objection_to(rule: GuardRule, values: Mapping[str, Any], context: Context) -> Denial | None:
    """The first objection of a guard to a call, or to the inner calls of a meta-tool."""
    try:
        if rule.match.inner is None:
            return rule.denies(values, context)
        for inner, arguments, path in rule.each_call(context, values):
            denied = rule.denies(arguments, inner)
            if denied is not None:
                return _below(path, denied)
    except UnreadableInner as unreadable:
        return unreadable.field, unreadable.reason
    except Exception:  # A rule that fails must not let the call pass.
        return "", NOT_CHECKED
    return None


def is_quick(rule: GuardRule, size: int) -> bool:
    """Whether reading so many bytes of JSON is short enough for the event loop; a value has at least two bytes."""
    return size * max(rule.per_character, PER_VALUE / 2) <= QUICK


async def in_time(rule: GuardRule, size: int, context: Context, work: Callable[[], T]) -> T:
    """Run a check where it is if it is short, else in a thread."""
    if is_quick(rule, size):
        return work()
    micros = min(size, rule.most_characters) * rule.per_character
    principal = context.call.principal if context.call is not None else None
    return await run_apart(work, micros, owner_of(principal) if principal is not None else "")


def _too_much(rule: GuardRule, values: Mapping[str, Any]) -> str | None:
    whole = rule.is_for_all or not rule.takes_fields or rule.match.inner is not None
    return beyond(load_of([values] if whole else rule.selected.pick(values)), rule.most_characters)


def _below(path: str, denied: Denial) -> Denial:
    field, reason = denied
    return (".".join(part for part in (path, field) if part), reason) if path else denied
