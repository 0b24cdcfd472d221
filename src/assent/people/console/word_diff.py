"""Two texts as a sequence of words that both have, that were taken out, and that were put in."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Literal

Part = tuple[Literal["same", "out", "in"], str]
MOST_WORDS = 1500
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


def word_diff(before: str | None, after: str | None) -> list[Part]:
    """The parts in the order of reading. Texts that are too long to compare by words stand beside each other whole."""
    if before is None or after is None:
        return [("in", after)] if after is not None else [("out", before or "")]
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if max(len(old), len(new)) > MOST_WORDS:
        return [("out", before), ("in", after)]
    parts: list[Part] = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            parts.append(("same", "".join(old[a:b])))
            continue
        if a < b:
            parts.append(("out", "".join(old[a:b])))
        if c < d:
            parts.append(("in", "".join(new[c:d])))
    return parts
