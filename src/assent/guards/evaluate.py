"""Asks one guard about a call, so that an error in a rule counts as an objection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assent.guards.context import Context
from assent.guards.match import UnreadableInner
from assent.guards.rule import Denial, GuardRule

NOT_CHECKED = "it could not be checked"


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


def _below(path: str, denied: Denial) -> Denial:
    field, reason = denied
    return (".".join(part for part in (path, field) if part), reason) if path else denied
