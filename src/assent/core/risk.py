"""Decides whether a person must be asked before a call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from assent.contract.model import Contract
from assent.core.call import Call
from assent.core.principal import Principal

_WILDCARDS = ("*", "%", "all", "any", "**", ".*")


def ambiguous(contract: Contract, arguments: Mapping[str, Any]) -> str | None:
    """Why the scope of a call is unclear, or None: an empty or wildcard selector, or more items than `bulk`."""
    for name in contract.selects:
        value = arguments.get(name)
        if _is_empty(value):
            return f"{name} is empty, so it may select everything"
        if _is_wildcard(value):
            return f"{name} selects everything"
    if contract.bulk is not None:
        for name, value in arguments.items():
            count = _longest_list(value) if name in contract.selects else len(value) if isinstance(value, list) else 0
            if count > contract.bulk:
                who = name if name.isidentifier() and name.isascii() else "an argument"
                return f"{who} holds {count} items, more than {contract.bulk}"
    return None


def _is_empty(value: Any) -> bool:
    """Whether a selector is empty: absent, blank, or made only of such values."""
    if isinstance(value, str):
        return not value.strip()
    if isinstance(value, Mapping):
        return all(_is_empty(item) for item in value.values())
    return all(_is_empty(item) for item in value) if isinstance(value, list) else value is None


def _longest_list(value: Any) -> int:
    """The length of the longest list in a selector."""
    if isinstance(value, Mapping):
        return max(map(_longest_list, value.values()), default=0)
    return max(len(value), *map(_longest_list, value)) if isinstance(value, list) and value else 0


def _is_wildcard(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in _WILDCARDS or "*" in value
    if isinstance(value, list):
        return any(_is_wildcard(item) for item in value)
    if isinstance(value, Mapping):
        return any(_is_wildcard(item) for item in value.values())
    return False


_CONFIRMERS = ("none", "host", "user", "approver")


def stricter(by: str, others: Iterable[str], principal: Principal) -> str:
    """The strictest of those who must confirm. Against a test endpoint a user is enough."""
    asked = ("user" if one == "approver" and principal.mode == "test" else one for one in others)
    return max((by, *asked), key=_CONFIRMERS.index)


def asked_by(call: Call, why: str | None) -> str:
    """Who must confirm: `none`, `host`, `user` or `approver`. Against a test endpoint a user is enough."""
    by = call.tool.contract.asked_by(why is not None)
    return "user" if by == "approver" and call.principal.mode == "test" else by
