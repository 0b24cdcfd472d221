"""The base class of guards that find data by detectors."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

from assent.guards.context import Context
from assent.guards.detectors.detector import Detector, find_all
from assent.guards.rule import ValueRule


class DetectorRule(ValueRule):
    """A rule that finds kinds of data in texts and long numbers, and can mask them."""

    masks: ClassVar[bool] = True
    all_kinds: ClassVar[dict[str, Detector]]

    kinds: tuple[str, ...]

    @cached_property
    def detectors(self) -> tuple[Detector, ...]:
        return tuple(self.all_kinds[kind] for kind in dict.fromkeys(self.kinds))

    def objection(self, value: Any, context: Context) -> str | None:
        if isinstance(value, bool) or not isinstance(value, str | int):
            return None
        if not isinstance(value, str) and abs(value) < 10**8:
            return None
        found = find_all(value if isinstance(value, str) else str(value), self.detectors)
        if not found:
            return None
        label = found[0][2].label
        return f"it contains {'an' if label[0] in 'AEIOaeio' else 'a'} {label}"
