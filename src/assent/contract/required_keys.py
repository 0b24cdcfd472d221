"""Contracts that require an idempotency key which most hosts cannot send."""

from __future__ import annotations

from collections.abc import Iterable

from assent.contract.model import Contract

_MOST_NAMED = 10


def unsendable_keys(contracts: Iterable[Contract]) -> str | None:
    """The warning for the operator at load: a model writes arguments only, and few hosts send `_meta` or headers."""
    keys = ((one.name, one.idempotency) for one in contracts)
    names = sorted(name for name, key in keys if key.key == "required" and key.argument is None)
    if not names:
        return None
    named = ", ".join(names[:_MOST_NAMED]) + (
        f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    )
    return (
        f"{named}: the contract requires an idempotency key and names no argument for it. Hosts that send neither "
        "`_meta` nor headers get only refusals. Write `idempotency: {argument: idempotency_key}`, or `key: auto`"
    )
