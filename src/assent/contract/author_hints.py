"""Annotations that an author writes on a function beside its contract.

They may raise `destructiveHint`, and they set a hint that the profile leaves out. Any other difference is a
contradiction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assent.contract.model import Contract
from assent.contract.profiles import HINTS, WIRE_NAMES, Profile
from assent.contract.tiers import Tier
from assent.contract.wire import read_claims

_BECAUSE = "The annotations of the function say so."


def dropped_hints(annotations: Mapping[str, Any], contract: Contract, profile: Profile) -> list[str]:
    """The hints on a function that contradict what its contract puts on the wire."""
    return list(_contradictions(annotations, contract, profile))


def with_author_hints(contract: Contract, annotations: Mapping[str, Any], profile: Profile) -> Contract:
    """The contract with the hints of the annotations that do not contradict it."""
    said, derived = read_claims({"annotations": annotations}), profile.hints(contract)
    kept = {
        name: hint
        for name in HINTS
        if (hint := getattr(said, name)) is not None
        and (derived[name] is None or (name == "destructive" and hint and not derived[name]))
    }
    if not kept:
        return contract
    hints = contract.hints.model_copy(update={**kept, "because": contract.hints.because or _BECAUSE})
    return contract.changed(hints=hints)


def _contradictions(annotations: Mapping[str, Any], contract: Contract, profile: Profile) -> Iterator[str]:
    said, derived = read_claims({"annotations": annotations}), profile.hints(contract)
    reads = contract.side_effect is Tier.READ
    under = "" if profile.name == "spec" else f" under the profile {profile.name}"
    for name, wire in WIRE_NAMES.items():
        hint: bool | None = getattr(said, name)
        if hint is None or hint is derived[name] or (reads and name == "idempotent"):
            continue
        if name == "destructive" and hint:
            if reads:
                yield f"{wire} is true in its annotations, but by its contract it only reads"
        elif derived[name] is not None:
            yield f"{wire} is {_show(hint)} in its annotations and {_show(not hint)} by its contract{under}"
        elif name == "idempotent" and hint:
            yield f"{wire} is true in its annotations, but its contract does not say that a repetition changes nothing"


def _show(value: bool) -> str:
    return "true" if value else "false"
