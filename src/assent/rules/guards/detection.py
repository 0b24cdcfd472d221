"""The base class of guards that find data by detectors."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

from assent.rules.guards.context import Context
from assent.rules.guards.detectors.detector import Detector, find_all
from assent.rules.guards.rule import ValueRule

_NAMES = ("pass", "pwd", "secret", "token", "key", "credential")


class DetectorRule(ValueRule):
    """A rule that finds kinds of data in texts and long numbers, and can mask them."""

    masks: ClassVar[bool] = True
    all_kinds: ClassVar[dict[str, Detector]]

    kinds: tuple[str, ...]

    @cached_property
    def detectors(self) -> tuple[Detector, ...]:
        return tuple(self.all_kinds[kind] for kind in dict.fromkeys(self.kinds))

    def finds_under(self, name: str, value: str) -> Detector | None:
        """The detector that finds the value because of the name that it has in an object, or None."""
        if not any(hint in name.lower() for hint in _NAMES):
            return None
        text = f'{name}="{value}"'
        return next((one for _, end, one in find_all(text, self.detectors) if end > len(name) + 1), None)

    def objection(self, value: Any, context: Context) -> str | None:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, str | int):
            return None
        if not isinstance(value, str) and abs(value) < 10**8:
            return None
        found = find_all(value if isinstance(value, str) else str(value), self.detectors)
        if not found:
            return None
        label = found[0][2].label
        return f"it contains {'an' if label[0] in 'AEIOaeio' else 'a'} {label}"
