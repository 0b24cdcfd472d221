"""Which claims need not be looked up, because what we think of them is tried when they are written?

A new claim is most likely not there, and one that this process has started is most likely as it was left. Both are
written on that condition: what is not as was thought is not written, and then all of it is looked up after all.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from assent.core.claims import ClaimRecord, State
from assent.stores.operations import StoreOperation
from assent.stores.record_rules import Records

MOST_KNOWN = 10_000
_NONE = (None, None, None)
"""What a claim says of its end (`valid_until`, `settled_at`, `result`) before it has one."""


def names_in(operations: Iterable[StoreOperation[Any]]) -> set[str]:
    """All claims that these operations are about."""
    names = {name for operation in operations for name in operation.claims}
    names.update(operation.new for operation in operations if operation.new is not None)
    return names


class OptimisticClaims:
    """The claims that one writer has under way, as it last wrote them: whoever started one is about to end it."""

    def __init__(self) -> None:
        self._known: dict[str, ClaimRecord] = {}

    def unknown(self, operations: Iterable[StoreOperation[Any]], records: Records) -> set[str]:
        """The claims that must be looked up; those that are known are put among the records."""
        names, known = set(), self._known
        for operation in operations:
            for name in operation.claims:
                if name in known:
                    records.claims[name] = known[name]
                else:
                    names.add(name)
        return names

    def can_write_optimistically(self, operations: Iterable[StoreOperation[Any]], records: Records) -> bool:
        """Whether writing these records tries all that was only thought: what was looked at, or was not because it is
        new, is also written. An operation that was refused may have been so for what was only thought.

        Nor does anything end before its start is written, which hardly ever happens and would need other statements.
        """
        changed, known = records.changed, self._known
        if changed.replacing or any(records.claims[name][12:15] != _NONE for name in changed.claims):
            return False
        return all(
            (operation.new is None or operation.new in changed.claims or operation.new in changed.moved)
            and all(name in changed.moved for name in operation.claims if name in known)
            for operation in operations
        )

    def remember(self, records: Records) -> None:
        """What is committed now."""
        claims, known = records.claims, self._known
        for name in chain(records.changed.claims, records.changed.moved):
            record = claims[name]
            if record.state is State.STARTED and not record.charges and len(known) < MOST_KNOWN:
                known[name] = record
            else:
                known.pop(name, None)

    def forget(self) -> None:
        self._known = {}
