"""Guard `url_schemes`: links have an allowed scheme."""

from __future__ import annotations

import html
import re
from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.rules.guards.context import Context
from assent.rules.guards.rule import Examples, ValueRule
from assent.rules.guards.text import CONTROL, readings

_WITH_HOST = re.compile(r"([a-z][a-z0-9+.-]{0,40}):[/\\]{2}")
# These run or read something without a host after them.
_WITHOUT_HOST = re.compile(
    r"(?<![a-z0-9+.-])(javascript|vbscript|data|file|blob|jar|view-source|ms-[a-z]+|https?|wss?|ftp):\S"
)
_WHOLE = re.compile(r"([a-z][a-z0-9+.-]{0,40}):")


class UrlSchemes(ValueRule):
    """Every link must have one of the allowed schemes.

    Links are found in all texts, also with control characters inside the scheme and HTML entities as browsers accept
    them. With
    `fields`, each text that begins like a link is one.
    """

    texts_alone: ClassVar[bool] = True
    examples: ClassVar[Examples] = Examples(
        {"schemes": ["https", "mailto"]},
        passes=({"text": "see https://example.com"}, {"text": "at 10:30 in room a:b"}),
        objects=({"url": "http://example.com"}, {"text": "java\nscript:alert(1)"}, {"x": "DATA:text/html,hi"}),
    )

    schemes: Annotated[tuple[str, ...], Field(min_length=1, description="The allowed schemes.")]

    def objection(self, value: Any, context: Context) -> str | None:
        if not isinstance(value, str) or (":" not in value and "&" not in value and value.isascii()):
            return None
        allowed = {scheme.lower() for scheme in self.schemes}
        plain = html.unescape(value)
        for text in {*readings(plain), *readings(CONTROL.sub("", plain))}:
            found = {match[1] for pattern in (_WITH_HOST, _WITHOUT_HOST) for match in pattern.finditer(text)}
            if self.fields and (whole := _WHOLE.match(text.strip())):
                found.add(whole[1])
            if not found <= allowed:
                return "it is a link whose scheme is not allowed"
        return None
