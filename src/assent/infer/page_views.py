"""Recognises searches and page views: tools that show something and are called again and again."""

from collections.abc import Mapping
from typing import Any, Final

from assent.infer.features.tool import gather
from assent.infer.lexicon import NOUNS

_TURNING: Final = frozenset({"browse", "go", "goto", "navigate", "scroll", "visit"})
_SHOWN: Final = NOUNS["web"] | {"back", "forward", "page", "pages", "tab"}


def is_view(definition: Mapping[str, Any]) -> bool:
    """Whether a definition is that of a search or a page view."""
    evidence = gather(definition)
    turns = evidence.name.verb in _TURNING and not (evidence.words | evidence.prose.opening).isdisjoint(_SHOWN)
    return evidence.is_view or turns
