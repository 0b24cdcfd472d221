"""The tables of characters that deceive a reader: those that draw nothing, turn the direction, or look like ASCII.

Every check of such characters uses these tables: questions to people, guards, lint, and what agents are shown.
"""

from __future__ import annotations

import re
import string
import unicodedata

LINES = frozenset("\n\r\t")
HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
DIRECTION_MARKS = frozenset("\u061c\u200e\u200f")
BIDIRECTIONAL = DIRECTION_MARKS | frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f")
"""Joiners and styles that emoji and several scripts need."""
SHAPES = frozenset(chr(code) for start, end in ((0xFE00, 0xFE0E), (0xE0100, 0xE01F0)) for code in range(start, end))
"""Selectors of a variant of the character before."""
BLANK = SHAPES | frozenset(
    "\ufe0e\ufe0f\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\U00016fe4\U0001d159"
)
"""Letters, marks and symbols that draw nothing, although their category does not say so."""

MOST_NAMED = 5
_ASCII_LETTERS = frozenset(string.ascii_letters)
_WORD = re.compile(r"\w+")
# Each pair: a letter and the ASCII letter that it looks like.
_LETTERS = (
    "аa сc ԁd еe һh іi јj ӏl оo рp ԛq ѕs ѵv ԝw хx уy АA ВB СC ЕE НH ІI ЈJ КK МM ОO РP ЅS ТT ХX ҮY ԌG ԚQ ԜW ӀI "
    "αa οo ρp νv τt υu ιi κk χx γy ϲc ϳj ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX ϹC "
    "օo ոn սu հh յj զq ցg աa εe ɑa ɡg ɩi ſf"
)
# Only in names and addresses: prose uses these signs in their usual meaning.
_SIGNS = "ıi ∕/ ⁄/ ⧸/ ․. ∶: ꞉: ∖\\ ‐- ‑- ‒- –- −- ǃ! 。."
_TWINS = {pair[0]: pair[1] for pair in _LETTERS.split()}
_SIGN_TWINS = {pair[0]: pair[1] for pair in _SIGNS.split()}


def look_alikes(text: str) -> dict[str, str]:
    """The characters of a text that can be mistaken for ASCII ones, each with the one it looks like.

    Text in another script does not count. A letter counts in a word that also has ASCII letters, or if every
    non-ASCII letter of the text is a look-alike. Signs count in such texts without spaces, which are names or
    addresses.
    """
    if text.isascii():
        return {}
    used = dict.fromkeys(text)
    foreign = [character for character in used if character.isalpha() and not character.isascii()]
    twins = {character: twin for character in used if (twin := twin_of(character))}
    all_look_alike = bool(foreign) and all(character in twins for character in foreign)
    if twins and not all_look_alike:
        words = set(_WORD.findall(text))
        mixed = set[str]().union(*(word for word in words if not _ASCII_LETTERS.isdisjoint(word)))
        twins = {character: twin for character, twin in twins.items() if character in mixed}
    if (all_look_alike or not foreign) and not any(character.isspace() for character in used):
        twins |= {character: twin for character in used if (twin := _sign_twin(character))}
    return twins


def describe_look_alikes(found: dict[str, str]) -> str:
    """Describe look-alikes by their Unicode names."""
    named = [
        f'"{character}" (U+{ord(character):04X} {unicodedata.name(character, "unnamed")}) looks like "{twin}"'
        for character, twin in list(found.items())[:MOST_NAMED]
    ]
    more = [f"{len(found) - MOST_NAMED} more"] if len(found) > MOST_NAMED else []
    return ", ".join([*named, *more])


def twin_of(character: str) -> str | None:
    """The ASCII letter or digit that a character looks like, by the table or by its NFKC form."""
    if character.isascii():
        return None
    plain = _TWINS.get(character) or unicodedata.normalize("NFKC", character)
    raised = unicodedata.decomposition(character).startswith(("<super>", "<sub>"))
    return plain if len(plain) == 1 and plain.isascii() and plain.isalnum() and not raised else None


def _sign_twin(character: str) -> str | None:
    if character.isascii() or character.isalnum():
        return _SIGN_TWINS.get(character)
    plain = _SIGN_TWINS.get(character) or unicodedata.normalize("NFKC", character)
    return plain if len(plain) == 1 and plain.isascii() and plain.isprintable() else None


_TOGETHER = ({"HIRAGANA", "KATAKANA", "CJK", "KATAKANA-HIRAGANA"}, {"HANGUL", "CJK"})


def mixes_scripts(name: str) -> bool:
    """Whether a name has letters of scripts that nobody writes together, as one does that poses as another."""
    scripts = {unicodedata.name(one, "").partition(" ")[0] for one in name if one.isalpha()}
    return len(scripts) > 1 and not any(scripts <= some for some in _TOGETHER)


_SAME = str.maketrans("01i|!$5", "ollllss")


def plain_form(name: str) -> str:
    """A form that is the same for names that a person may take for each other: `Carol`, `car0l`, `cаrоl`, `càrol`."""
    plain = unicodedata.normalize("NFKD", "".join(twin_of(one) or _sign_twin(one) or one for one in name))
    seen = "".join(one for one in plain if not unicodedata.category(one).startswith(("M", "C", "Z")))
    folded = "".join(twin_of(one) or one for one in seen.casefold()).translate(_SAME)
    return folded.replace("rn", "m").replace("vv", "w")
