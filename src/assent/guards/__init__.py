"""The guards, and how configuration builds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from assent.contract.explanations import explain
from assent.errors import Fault, SettingsError
from assent.guards.allow_domains import AllowDomains
from assent.guards.block_keywords import BlockKeywords
from assent.guards.bounds import Bounds
from assent.guards.rule import GuardRule

RULES: dict[str, type[GuardRule]] = {rule.name: rule for rule in (AllowDomains, BlockKeywords, Bounds)}


def build_guard(given: Mapping[str, Any]) -> GuardRule:
    """Build the guard that a line of configuration describes: `{match: ..., rule: NAME, ...parameters}`."""
    fields = dict(given)
    name = fields.pop("rule", None)
    if name not in RULES:
        raise SettingsError(Fault(f"there is no guard {name!r}", "Use one of " + ", ".join(sorted(RULES)), "rule"))
    try:
        return RULES[name](**fields)
    except ValidationError as error:
        keys = RULES[name].model_fields
        raise SettingsError(
            [Fault(*explain(one, keys), ".".join(map(str, one["loc"]))) for one in error.errors(include_url=False)]
        ) from None
