"""Recognises searches and page views: tools that show something and are called again and again."""

from collections.abc import Mapping
from typing import Any, Final

from assent.infer.features.tool import gather
from assent.infer.lexicon import NOUNS

_TURNING: Final = frozenset({"browse", "go", "goto", "navigate", "scroll", "visit"})
_SHOWN: Final = NOUNS["web"] | {"back", "forward", "page", "pages", "tab"}


def is_view(definition: Mapping[str, Any]) -> bool:
    """Whether a definition is a search or a page view."""
    tool = gather(definition)
    turns = tool.name.verb in _TURNING and not (tool.words | tool.prose.opening).isdisjoint(_SHOWN)
    return tool.is_view or turns
