"""Recognises searches and page views: tools that show something and are called again and again."""

from collections.abc import Mapping
from typing import Any, Final

from assent.infer.features.tool import gather
from assent.infer.rules.condition import any_of, when

_IS_VIEW: Final = any_of(
    when(traits="view"), when(verb="browse go goto navigate scroll visit", around="@web back forward page pages tab")
)


def is_view(definition: Mapping[str, Any]) -> bool:
    """Whether a definition is a search or a page view."""
    return bool(_IS_VIEW(gather(definition)))
