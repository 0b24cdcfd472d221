"""Which idempotency key does an intended action carry, and where?

One key per action, the same on every attempt. Where an action ended without an answer its key is kept: the same call
again is the same action, not a second one. The model never writes a key.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from assent.client.tool_policy import ToolPolicy
from assent.contract.tiers import Tier
from assent.mcp.idempotency_key import META_KEY

_ARGUMENTS = ("idempotency_key", "idempotencyKey", "idempotency-key", "Idempotency-Key")
_MOST_UNSETTLED = 10_000


def new_key() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """Where a key goes: into the argument of that name, or into `_meta`, from where HTTP has it in a header too."""

    argument: str | None = None

    def put(self, key: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any] | None]:
        if self.argument is None:
            return arguments, {META_KEY: key}
        return {**arguments, self.argument: key}, None


def place_of(standing: ToolPolicy, schema: Any, *, by_header: bool = False) -> KeyPlace | None:
    """Where this tool takes a key; None where it takes none or needs none. `by_header` is the caller's word on it."""
    if standing.tier is Tier.READ:
        return None
    if standing.contract:
        return KeyPlace()
    argument = key_argument(schema)
    if argument:
        return KeyPlace(argument)
    return KeyPlace() if by_header else None


def key_argument(schema: Any, contract: Mapping[str, Any] | None = None) -> str | None:
    """The argument that is for a key: the one the contract names, or one with a name that says so."""
    named = schema.get("properties") if isinstance(schema, Mapping) else None
    properties = named if isinstance(named, Mapping) else {}
    idempotency = (contract or {}).get("idempotency")
    said = idempotency.get("argument") if isinstance(idempotency, Mapping) else None
    return next((name for name in (said, *_ARGUMENTS) if isinstance(name, str) and name in properties), None)


class IdempotencyKeys:
    """The keys of actions whose end is not known."""

    def __init__(self, make: Callable[[], str] = new_key) -> None:
        self._make = make
        self._unsettled: dict[str, list[str]] = {}

    def take(self, action: str) -> str:
        """A kept key of this action, the oldest first, or a new one. Two at the same time are two actions."""
        kept = self._unsettled.pop(action, None)
        if kept is None:
            return self._make()
        if kept[1:]:
            self._unsettled[action] = kept[1:]
        return kept[0]

    def keep(self, action: str, key: str) -> None:
        if action not in self._unsettled and len(self._unsettled) >= _MOST_UNSETTLED:
            self._unsettled.pop(next(iter(self._unsettled)))
        self._unsettled.setdefault(action, []).append(key)
