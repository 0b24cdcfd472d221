"""Claims that are written without reading them first.

A new claim usually does not exist yet, and a claim that this process started is usually unchanged. Both are written
under that condition. If the condition fails, nothing is written and the claims are read after all.
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
"""The end of a claim (`valid_until`, `settled_at`, `result`) before it has ended."""


def names_in(operations: Iterable[StoreOperation[Any]]) -> set[str]:
    """All claims that these operations concern."""
    names = {name for operation in operations for name in operation.claims}
    names.update(operation.new for operation in operations if operation.new is not None)
    return names


class OptimisticClaims:
    """The started claims of one writer, as it last wrote them."""

    def __init__(self) -> None:
        self._known: dict[str, ClaimRecord] = {}

    def unknown(self, operations: Iterable[StoreOperation[Any]], records: Records) -> set[str]:
        """Add the known claims to the records and return the ids that must be read."""
        names, known = set(), self._known
        for operation in operations:
            for name in operation.claims:
                if name in known:
                    records.claims[name] = known[name]
                else:
                    names.add(name)
        return names

    def can_write_optimistically(self, operations: Iterable[StoreOperation[Any]], records: Records) -> bool:
        """Whether writing these records checks every assumption: each claim that was assumed is also written.

        An operation may have been refused because of a wrong assumption, so then the answer is False. It is also
        False if a claim would end before its start is written, which is rare and would need other statements.
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
        """Keep the claims that are now committed and still started."""
        claims, known = records.claims, self._known
        for name in chain(records.changed.claims, records.changed.moved):
            record = claims[name]
            if record.state is State.STARTED and not record.charges and len(known) < MOST_KNOWN:
                known[name] = record
            else:
                known.pop(name, None)

    def forget(self) -> None:
        self._known = {}
