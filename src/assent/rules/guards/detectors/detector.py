"""A detector finds one kind of data in a text; a rule has several."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from assent.core.deceptive_characters import BLANK
from assent.rules.guards.context import NO_CONTEXT, Context
from assent.rules.guards.patterns import find_in_windows
from assent.rules.guards.rule import Denial, ValueRule

_SHORTEST = 6
_LONGEST = 24_000
"""More characters than any detector finds in one place."""
_TOKEN = re.compile(r"[A-Za-z0-9_\-+/=.]{16}")
_WITHOUT_DIGITS = str.maketrans("", "", "0123456789")


@dataclass(frozen=True, slots=True)
class Detector:
    """A pattern for one kind of data, and a check of what it finds.

    `hints` are texts of which one must be present, so that most texts are not searched at all.
    """

    kind: str
    label: str
    pattern: re.Pattern[str]
    check: Callable[[str], bool] | None = None
    hints: tuple[str, ...] = ()
    digits: int = 0
    """How many digits the data has at least."""
    is_token: bool = False
    """Whether the data has at least sixteen characters of a token in a row."""

    def find(self, text: str, lower: str) -> Iterator[tuple[int, int]]:
        """The places of the data in a text."""
        if self.hints and not any(hint in lower for hint in self.hints):
            return
        for match in find_in_windows(self.pattern, text, _LONGEST):
            group = 1 if self.pattern.groups else 0
            if self.check is None or self.check(match[group]):
                yield match.start(group), match.end(group)


class PlainText:
    """A text without invisible characters and with ASCII digits where it can be; it knows places in the original."""

    def __init__(self, text: str) -> None:
        self.original = text
        if text.isascii():
            self.text, self._places = text, None
            return
        found: list[str] = []
        places: list[int] = []
        for place, character in enumerate(text):
            for plain in _plain(character):
                found.append(plain)
                places.append(place)
        self.text, self._places = "".join(found), places

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The places in the original."""
        return (start, end) if self._places is None else (self._places[start], self._places[end - 1] + 1)


def _plain(character: str) -> str:
    if character.isascii():
        return character
    if character in BLANK or unicodedata.category(character) == "Cf":
        return ""
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    plain = unicodedata.normalize("NFKC", character)
    return plain if plain.isascii() else "-" if unicodedata.category(character) == "Pd" else character


def find_all(text: str, detectors: tuple[Detector, ...]) -> list[tuple[int, int, Detector]]:
    """Every place of any kind of data, in order, without overlaps: the earlier and longer find wins."""
    if len(text) < _SHORTEST or text.isalpha():
        return []
    plain = PlainText(text)
    lower, digits = plain.text.lower(), len(plain.text) - len(plain.text.translate(_WITHOUT_DIGITS))
    has_token = _TOKEN.search(plain.text) is not None
    found = [
        (*plain.span(start, end), detector)
        for detector in detectors
        if digits >= detector.digits and (has_token or not detector.is_token)
        for start, end in detector.find(plain.text, lower)
    ]
    found.sort(key=lambda one: (one[0], -one[1]))
    kept: list[tuple[int, int, Detector]] = []
    for one in found:
        if not kept or one[0] >= kept[-1][1]:
            kept.append(one)
    return kept


def replace_all(text: str, detectors: tuple[Detector, ...]) -> tuple[str, int]:
    """The text with everything that the detectors find replaced by its label, and how many places there were."""
    found = find_all(text, detectors)
    if not found:
        return text, 0
    pieces, at = [], 0
    for start, end, detector in found:
        pieces += [text[at:start], mark(detector.label)]
        at = end
    return "".join([*pieces, text[at:]]), len(found)


def mark(label: str) -> str:
    """What stands in place of something masked."""
    return f"[masked: {label}]"


_LABELS = ("name", "key", "k", "variable", "field")
_STATED = frozenset({"value", "v", "val"})
# Where a list goes on is no secret: `nextPageToken`, `sync_token`.
_PLACE = re.compile(r"(?:page|next|prev|previous|sync|continuation|cursor|delta|resume)[_-]?token", re.IGNORECASE)
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
        if not any(hint in name.lower() for hint in _NAMES) or _PLACE.search(name):
            return None
        text = f'{name}="{value}"'
        return next((one for _, end, one in find_all(text, self.detectors) if end > len(name) + 1), None)

    def denies(self, arguments: Mapping[str, Any], context: Context = NO_CONTEXT) -> Denial | None:
        """The first objection: to a value, or to one because of the name that it has in an object."""
        found = super().denies(arguments, context)
        return found or next(
            (one for path, value in self.checked_values(arguments) for one in self._find_by_name(path, value)), None
        )

    def _find_by_name(self, path: str, value: Any) -> Iterator[Denial]:
        if isinstance(value, str):
            if by := self.finds_under(path.rpartition(".")[2], value):
                yield path, _contains(by)
        elif isinstance(value, dict):
            for name, (key, item) in zip(names_of(value), value.items(), strict=True):
                found = isinstance(item, str) and self.finds_under(name, item)
                yield from [(f"{path}.{key}", _contains(found))] if found else self._find_by_name(f"{path}.{key}", item)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                yield from self._find_by_name(f"{path}[{index}]", item) if not isinstance(item, str) else ()

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
        return _contains(found[0][2])


def _contains(found: Detector) -> str:
    return f"it contains {'an' if found.label[0] in 'AEIOaeio' else 'a'} {found.label}"


def names_of(value: Mapping[str, Any]) -> list[str]:
    """The name of each member's value: its own, or the one that another member states: `{name: TOKEN, value: ...}`."""
    stated = next((value[one] for one in _LABELS if isinstance(value.get(one), str)), None)
    return [stated if stated is not None and name in _STATED else name for name in value]
