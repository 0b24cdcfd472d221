"""Arguments, previews and their differences as rows of a table.

Everything a row shows is escaped for reading: texts are in quotes, characters that cannot be seen are written out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from assent.core.question import has_hidden, leaves_of, quoted, shown_value, visible

MOST_PIECES = 1500
"""Words or lines of a text up to which its differences are looked for; of a longer one both versions are shown."""
LONG = 600
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_PAIRS = (("before", "after"), ("old", "new"), ("current", "proposed"))
Change = Literal["same", "changed", "added", "removed"]
Piece = tuple[Literal["same", "added", "removed"], str]


@dataclass(frozen=True, slots=True)
class ArgumentRow:
    """One value, and what it was before where that is known."""

    name: str
    shown: str
    is_text: bool
    has_hidden: bool
    change: Change = "same"
    before: str = ""
    pieces: tuple[Piece, ...] = ()
    """The text in parts, where only some of it changed."""

    @property
    def is_long(self) -> bool:
        return len(self.shown) > LONG or len(self.before) > LONG


def argument_rows(value: Any) -> list[ArgumentRow]:
    """A row for every value, however deep it lies."""
    return [_row(name, leaf) for name, leaf in leaves_of(value) if (name, leaf) != ("", {})]


def compared_rows(before: Any, after: Any) -> list[ArgumentRow]:
    """A row for every value that is in one or both, those of `after` first."""
    old, new = dict(leaves_of(before)), dict(leaves_of(after))
    rows = [
        _compare_values(name, old[name], leaf) if name in old else _row(name, leaf, "added")
        for name, leaf in new.items()
    ]
    rows += [_row(name, leaf, "removed") for name, leaf in old.items() if name not in new]
    return [row for row in rows if row.name]


def changes_in(preview: Any, name: str = "") -> Iterator[tuple[str, list[ArgumentRow]]]:
    """Each part of a preview that says what is there before and after, with the rows that differ."""
    if not isinstance(preview, Mapping):
        return
    for one, other in _PAIRS:
        if one in preview and other in preview:
            yield name or "the preview", _differences(preview[one], preview[other])
    for key, item in preview.items():
        yield from changes_in(item, f"{name}.{visible(str(key))}" if name else visible(str(key)))


def _differences(before: Any, after: Any) -> list[ArgumentRow]:
    if isinstance(before, Mapping | list) and isinstance(after, Mapping | list):
        return [row for row in compared_rows(before, after) if row.change != "same"]
    return [row for row in compared_rows({"value": before}, {"value": after}) if row.change != "same"]


def _row(name: str, leaf: Any, change: Change = "same") -> ArgumentRow:
    return ArgumentRow(name, shown_text(leaf), isinstance(leaf, str), has_hidden(leaf), change)


def _compare_values(name: str, before: Any, after: Any) -> ArgumentRow:
    if type(before) is type(after) and before == after:
        return _row(name, after)
    texts = isinstance(before, str) and isinstance(after, str)
    pieces = tuple(_pieces(before, after)) if texts else ()
    shown = shown_text(after)
    return ArgumentRow(name, shown, isinstance(after, str), has_hidden(after), "changed", shown_text(before), pieces)


def shown_text(leaf: Any) -> str:
    """A value in one piece; a line end of a text is written out and followed by a real one."""
    if not isinstance(leaf, str) or "\n" not in leaf:
        return shown_value(leaf)
    return "\\n\n".join(quoted(line)[1:-1] for line in leaf.split("\n")).join('""')


def _pieces(before: str, after: str) -> list[Piece]:
    """The parts, written so that nothing in them is hidden."""
    return [(kind, shown_text(text)[1:-1]) for kind, text in differing_parts(before, after)]


def differing_parts(before: str, after: str) -> list[Piece]:
    """What stayed, went and came, in the order of reading; nothing where the texts are too long to compare."""
    for part in (_WORDS, _LINES):
        old, new = part.findall(before), part.findall(after)
        if len(old) + len(new) <= MOST_PIECES:
            return [piece for piece in _compared_parts(old, new) if piece[1]]
    return []


def _compared_parts(old: list[str], new: list[str]) -> Iterator[Piece]:
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield "same", "".join(new[c:d])
        else:
            yield "removed", "".join(old[a:b])
            yield "added", "".join(new[c:d])
