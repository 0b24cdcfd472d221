"""Claims that are written without reading them first.

A new claim usually does not exist yet, and a claim that this process started is usually unchanged. Both are written
under that condition. If the condition fails, nothing is written and the claims are read after all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from assent.core.claims import ClaimRecord, State
from assent.stores.operations import StoreOperation
from assent.stores.record_rules import Records

MOST_KNOWN = 10_000
_STARTED = State.STARTED
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
        self._known_claims: dict[str, ClaimRecord] = {}

    def unknown(self, operations: Iterable[StoreOperation[Any]], records: Records) -> set[str]:
        """Add the known claims to the records and return the ids that must be read."""
        names, known, claims = set(), self._known_claims, records.claims
        for operation in operations:
            for name in operation.claims:
                record = known.get(name)
                if record is not None:
                    claims[name] = record
                else:
                    names.add(name)
        return names

    def can_write_optimistically(self, operations: Iterable[StoreOperation[Any]], records: Records) -> bool:
        """Whether writing these records checks every assumption: each claim that was assumed is also written.

        An operation may have been refused because of a wrong assumption, so then the answer is False. It is also
        False if a claim would end before its start is written, which is rare and would need other statements.
        """
        made, moved, known = records.changed.claims, records.changed.moved, self._known_claims
        if records.changed.replacing:
            return False
        for name in made:
            if records.claims[name][12:15] != _NONE:
                return False
        for operation in operations:
            new = operation.new
            if new is not None and new not in made and new not in moved:
                return False
            for name in operation.claims:
                if name not in moved and name in known:
                    return False
        return True

    def remember(self, records: Records) -> None:
        """Keep the claims that are now committed and still started."""
        claims, known = records.claims, self._known_claims
        for name in (*records.changed.claims, *records.changed.moved):
            record = claims[name]
            if record.state is _STARTED and not record.charges and len(known) < MOST_KNOWN:
                known[name] = record
            elif name in known:
                del known[name]

    def forget(self) -> None:
        self._known_claims = {}
