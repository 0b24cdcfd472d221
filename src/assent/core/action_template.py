"""Action templates of contracts: the sentence of a call in questions to people and in the activity feed.

An argument cannot continue the sentence: free text is quoted, cut, and shown with its invisible characters escaped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from assent.contract.digest import NotCanonicalError, canonical
from assent.core.question import visible

TEMPLATE_LIMIT, VALUE_LIMIT, LINE_LIMIT = 500, 80, 400
ERASED, ABSENT = "[erased]", "[not given]"

_PIECE = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_-]{0,63}(?:\.[A-Za-z0-9_]{1,64})*)\}|([^{}]+)")
_TOKEN = re.compile(r"[\w.@:/+#%&=~-]+")


class BadTemplate(ValueError):
    """An action template that cannot be rendered safely."""


@dataclass(frozen=True, slots=True)
class ActionTemplate:
    """An action template: literal text and argument names in turn."""

    pieces: tuple[tuple[str, bool], ...]

    @classmethod
    def parse(cls, text: str) -> ActionTemplate:
        if len(text) > TEMPLATE_LIMIT:
            raise BadTemplate(f"an action template has at most {TEMPLATE_LIMIT} characters")
        pieces, at = [], 0
        while at < len(text):
            match = _PIECE.match(text, at)
            if match is None:
                raise BadTemplate(
                    f"the template breaks at {text[at : at + 20]!r}: write {{name}} for an argument and"
                    " {{ or }} for a brace; nothing else may stand in braces"
                )
            literal = match[2] or match[0][:1]
            pieces.append((match[1], True) if match[1] else (literal, False))
            at = match.end()
        return cls(tuple(pieces))

    def render_arguments(self, values: Mapping[str, object] | None) -> str:
        """Return the arguments by name without the sentence, for a call that did not do what the sentence says."""
        names = dict.fromkeys(text for text, is_name in self.pieces if is_name)
        parts = ", ".join(f"{name}: {_format_argument(name, values)}" for name in names)
        return _truncate(f" ({parts})", LINE_LIMIT) if parts else ""

    def render(self, values: Mapping[str, object] | None) -> str:
        """Return the sentence; None for `values` means that they were erased."""
        parts = [_format_argument(name, values) if is_name else visible(name) for name, is_name in self.pieces]
        return _truncate("".join(parts), LINE_LIMIT)


def _format_argument(name: str, values: Mapping[str, object] | None) -> str:
    if values is None:
        return ERASED
    value: object = values
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return ABSENT
        value = value[part]
    if not isinstance(value, str):
        try:
            text = canonical(value).decode()
        except NotCanonicalError:
            return ABSENT
        return _truncate(visible(text[: VALUE_LIMIT + 1]), VALUE_LIMIT)
    text = _truncate(visible(value[: VALUE_LIMIT + 1]), VALUE_LIMIT)
    # Quote free text, so that an argument cannot continue the sentence.
    return text if _TOKEN.fullmatch(text) else "\u201c" + re.sub("[\u201c\u201d]", "'", text) + "\u201d"


def _truncate(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "\u2026"
