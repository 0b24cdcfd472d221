"""Erases values of log entries in a store. What is left still proves that the entry was there."""

from __future__ import annotations

from collections.abc import Sequence

from assent.audit.leaf import BadEntry, Sealed
from assent.audit.leaf_reader import redact
from assent.errors import StoreError
from assent.stores.record_rules import Records


def erase(records: Records, index: int, fields: Sequence[str], row: Sealed) -> None:
    found = records.places.get(index)
    if found is None:
        raise StoreError(f"The log has no entry {index}.")
    try:
        left = redact(found.values, fields)
    except BadEntry as error:
        raise StoreError(f"Nothing of entry {index} was erased: {error}.") from error
    records.places[index] = Sealed(found.leaf, left)
    records.changed.places.add(index)
    records.append([row])
