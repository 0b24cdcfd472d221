"""Must somebody be asked before this call?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assent.contract.model import Contract
from assent.core.call import Call

_WILD = ("*", "%", "all", "any", "**", ".*")


def ambiguous(contract: Contract, arguments: Mapping[str, Any]) -> str | None:
    """Why the scope of a call is unclear, or None: an empty or wild selector, or more items than `bulk`."""
    for name in contract.selects:
        value = arguments.get(name)
        if value is None or value == "" or value == [] or value == {}:
            return f"{name} selects nothing in particular"
        if _wild(value):
            return f"{name} selects everything"
    if contract.bulk is not None:
        for name, value in arguments.items():
            if isinstance(value, list) and len(value) > contract.bulk:
                return f"{name} holds {len(value)} items, more than {contract.bulk}"
    return None


def _wild(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in _WILD or "*" in value
    if isinstance(value, list):
        return any(_wild(item) for item in value)
    if isinstance(value, Mapping):
        return any(_wild(item) for item in value.values())
    return False


def asked_by(call: Call, why: str | None) -> str:
    """Who must say yes: `none`, `host`, `user` or `approver`. Against a test endpoint a user is enough."""
    by = call.tool.contract.asked_by(why is not None)
    return "user" if by == "approver" and call.principal.mode == "test" else by
