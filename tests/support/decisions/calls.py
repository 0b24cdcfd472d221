"""A call as `validate` would have made it, for what only looks at calls."""

from __future__ import annotations

import hashlib
from typing import Any

from assent.contract.digest import canonical
from assent.contract.reader import read_contract
from assent.core.call import Call
from assent.core.principal import Principal
from assent.core.tool import compile_tool

AGENT = Principal("agent", "agent", scopes=frozenset({"*"}))


def call_of(
    arguments: dict[str, Any] | None = None,
    *,
    by: Principal = AGENT,
    key: str | None = None,
    name: str = "tool",
    upstream: str = "up",
    **fields: Any,
) -> Call:
    contract = read_contract(name, {"side_effect": "write", **fields})
    given = arguments or {}
    plain = canonical(given)
    mark = hashlib.sha256(plain).hexdigest()
    return Call(by, compile_tool(contract, upstream=upstream), given, plain, mark, f"digest-{mark}", key)
