"""Characters that a model reads and a person does not see.

Emoji and several scripts need some of these characters. In their place there they are seen by what they join or shape;
anywhere else they can spell a text that nobody sees. See ADR 0150.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from assent.core.deceptive_characters import BLANK, DIRECTION_MARKS, HIDDEN_CATEGORIES, JOINERS, LINES, SHAPES
from assent.core.question import visible

_LINE_ENDS = frozenset("\x0b\x0c\x85\u2028\u2029")
_JOINED = frozenset({"So", "Sk", "Sm", "Po", "Pd", "Lo", "Mn", "Mc"})
_KEYCAPS = frozenset("0123456789#*")
_INFORMATION = "\u2139"  # The one emoji whose category is that of a letter.
_NUMBER_SIGNS = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
"""Format characters that are drawn around or above the digits and letters after them."""
_MONGOLIAN_SHAPES = frozenset("\u180b\u180c\u180d\u180e\u180f")
# England, Scotland and Wales: the only flags in tag characters that are recommended for use.
_FLAG = re.compile(
    "\U0001f3f4\U000e0067\U000e0062"
    "(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)\U000e007f"
)
# Terminal sequences, which a terminal obeys and does not show: those with parameters, those with a text, short ones.
# A text ends before the next start of one, so that no part of it is looked at twice.
_TERMINAL = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f\n]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
_CONTROLS = frozenset(map(chr, (0x1B, *range(0x80, 0xA0))))
_MOST_SHOWN, _MOST_TAGS = 80, 8


def hidden_in(text: str) -> Iterator[int]:
    """Where the characters stand that nobody sees, in order."""
    odd = {one for one in set(text) if one not in LINES and not _is_seen(one)}
    if not odd:
        return
    if odd.isdisjoint(_CONTROLS) and "\U0001f3f4" not in text:
        yield from _hidden_in_runs(text, odd)
        return
    kept = {at for flag in _FLAG.finditer(text) for at in range(*flag.span())}
    dropped = {at for sequence in _TERMINAL.finditer(text) for at in range(*sequence.span())}
    shown = {one for at, one in enumerate(text) if at not in dropped}
    before, joiners, may_mark = "", set[str](), any(map(_is_right_to_left, shown))
    for at, character in enumerate(text):
        if at in dropped:
            yield at
        elif at in kept or _is_seen(character) or character in LINES:
            before, joiners = character, set()
        elif _belongs_to(character, before, joiners) or (may_mark and character in DIRECTION_MARKS and not joiners):
            joiners.add(character)
        else:
            yield at
            joiners |= {character} - JOINERS


def _hidden_in_runs(text: str, odd: set[str]) -> Iterator[int]:
    """The same for a text without terminal sequences and flags: only the runs of odd characters are looked at."""
    may_mark = any(map(_is_right_to_left, set(text)))
    for run in re.compile(f"[{re.escape(''.join(odd))}]+").finditer(text):
        before, joiners = text[run.start() - 1] if run.start() else "", set[str]()
        for at, character in enumerate(run[0], run.start()):
            if _belongs_to(character, before, joiners) or (may_mark and character in DIRECTION_MARKS and not joiners):
                joiners.add(character)
            else:
                yield at
                joiners |= {character} - JOINERS


def is_plain(text: str) -> bool:
    """Whether every character of a text is seen wherever it stands."""
    return (text.isascii() and text.isprintable()) or all(one in LINES or _is_seen(one) for one in set(text))


def without_hidden(text: str, places: Sequence[int] | None = None) -> str:
    """The text without characters that nobody sees. Unusual line ends become ordinary ones, so that no words join."""
    pieces, kept = list[str](), 0
    for at in hidden_in(text) if places is None else places:
        pieces += [text[kept:at], "\n" if text[at] in _LINE_ENDS and 0 < at < len(text) - 1 else ""]
        kept = at + 1
    return "".join([*pieces, text[kept:]]) if pieces else text


def show_hidden(text: str, places: Sequence[int] | None = None) -> str:
    """What nobody sees in a text, escaped; Unicode tag characters are followed by what they spell."""
    hidden = "".join(text[at] for at in (hidden_in(text) if places is None else places))
    spelt = "".join(chr(ord(one) - 0xE0000) for one in hidden if 0xE0020 <= ord(one) <= 0xE007E)
    most = _MOST_TAGS if spelt else _MOST_SHOWN
    shown = visible(hidden[:most]) + ("…" if len(hidden) > most else "")
    return f'{shown} (tags that spell "{visible(spelt[:_MOST_SHOWN])}")' if spelt else shown


def _belongs_to(character: str, before: str, joiners: set[str]) -> bool:
    """Whether a joiner or selector has its place after this character and the ones that follow it already."""
    if not before:
        return False
    if character in JOINERS:
        return character not in joiners and _can_be_joined(before)
    if character in SHAPES:
        return not joiners and unicodedata.name(before, "").startswith("CJK ")
    return character in _MONGOLIAN_SHAPES and not joiners and "\u1800" <= before <= "\u18af"


@lru_cache(8192)
def _is_seen(character: str) -> bool:
    category = unicodedata.category(character)
    if category == "Cn":
        return not _draws_nothing(ord(character))
    return character in _NUMBER_SIGNS or not (character in BLANK or category in HIDDEN_CATEGORIES)


def _draws_nothing(code: int) -> bool:
    """Whether an unassigned character is shown as nothing. Others are new letters and emoji, or are shown as a box."""
    is_noncharacter = 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE
    return is_noncharacter or code == 0x2065 or 0xFFF0 <= code <= 0xFFFF or code >= 0xE0000


def _can_be_joined(character: str) -> bool:
    if character.isascii():
        return character in _KEYCAPS
    return character == _INFORMATION or unicodedata.category(character) in _JOINED


def _is_right_to_left(character: str) -> bool:
    return character.isalpha() and unicodedata.bidirectional(character) in ("R", "AL")
