"""Reads entries, finds their principal, and filters them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import orjson

from assent.audit.leaf import Leaf, parse_leaf
from assent.audit.leaf_values import unpack
from assent.audit.merkle import hash_leaf
from assent.core.limited_dict import LimitedDict

CALLS = 50_000
"""Number of calls whose principal is remembered."""
_WHO = {"principal", "person"}


@dataclass(frozen=True, slots=True)
class EntryView:
    """One entry as it is returned to readers."""

    index: int
    leaf: Leaf
    leaf_hash: bytes
    values: Mapping[str, Any] = field(default_factory=dict)
    caller: Mapping[str, Any] = field(default_factory=dict)
    """`principal` and `kind` from the intent, for an entry that does not name its own."""

    @property
    def who(self) -> str | None:
        return self.values.get("principal") or self.values.get("person") or self.caller.get("principal")

    @property
    def erased(self) -> list[str]:
        return sorted(self.leaf.commitments.keys() - self.values.keys())

    def fact(self, name: str) -> Any:
        return self.leaf.facts.get(name)


@dataclass(frozen=True, slots=True)
class Selection:
    """Filter for entries; unset fields match everything. Names may contain `*`."""

    principal: str | None = None
    tool: str | None = None
    tier: str | None = None
    outcome: str | None = None
    kind: str | None = None
    since: int | None = None
    until: int | None = None
    open_world: bool | None = None

    def takes(self, row: EntryView) -> bool:
        texts = [
            (self.principal, row.who),
            (self.tool, row.fact("tool")),
            (self.tier, row.fact("tier")),
            (self.outcome, row.fact("state") or row.fact("code")),
            (self.kind, row.leaf.kind),
        ]
        if any(want is not None and not fnmatchcase(str(have or ""), want) for want, have in texts):
            return False
        if self.open_world is not None and bool(row.fact("open_world")) != self.open_world:
            return False
        return (self.since is None or row.leaf.at >= self.since) and (self.until is None or row.leaf.at < self.until)


class PrincipalIndex:
    """Reads entries in order and remembers principals, because an outcome does not repeat the one of its intent."""

    def __init__(self) -> None:
        self._begun = LimitedDict[str, Mapping[str, Any]](CALLS)
        self.position = 0

    def read(self, index: int, leaf: bytes, blob: bytes | None) -> EntryView:
        row = read_row(index, leaf, blob)
        self.position = index + 1
        claim = str(row.fact("claim") or "")
        if not _WHO & row.leaf.commitments.keys():
            return replace(row, caller=self._begun.get(claim, {}))
        if row.leaf.kind == "intent" and "principal" in row.values:
            self._begun[claim] = {name: row.values[name] for name in ("principal", "kind") if name in row.values}
        return row


def read_row(index: int, leaf: bytes, blob: bytes | None) -> EntryView:
    values = {name: _load(value) for name, value in unpack(blob)[0].items()}
    return EntryView(index, parse_leaf(leaf), hash_leaf(leaf), values)


def _load(value: bytes) -> Any:
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return {"uninspectable": value.hex()}
