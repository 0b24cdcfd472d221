"""Guard `encoded_text`: texts do not hide other texts in an encoding."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from assent.rules.guards.context import Context
from assent.rules.guards.rule import Examples, ValueRule

Encoding = Literal["base64", "hex", "percent", "escapes", "entities"]
_RUN = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_GAPS = re.compile(r"(?<=[A-Za-z0-9+/_=-])\s+(?=[A-Za-z0-9+/_=-])")
_HEX = re.compile(r"(?:(?:0x|\\x)?[0-9a-fA-F]{2}[\s:,;-]{0,2}){16,}", re.IGNORECASE)
_PRINTABLE = re.compile(rb"[ -~]{18,}")
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2}){4,}|%25[0-9a-fA-F]{2}")
_ESCAPES = re.compile(r"(?:\\u\{?[0-9a-fA-F]{4,6}\}?|\\x[0-9a-fA-F]{2}|\\[0-7]{3}){3,}")
_ENTITIES = re.compile(r"(?:&#(?:[0-9]{2,7}|x[0-9a-fA-F]{2,6});){3,}", re.IGNORECASE)


class EncodedText(ValueRule):
    """No text may hide a longer text in base64, hexadecimal, percent-encoding, escapes or HTML entities.

    Base64 and hexadecimal count if they decode to readable text. Names, digests and random identifiers do not.
    """

    texts_alone: ClassVar[bool] = True
    examples: ClassVar[Examples] = Examples(
        {"encodings": ["base64", "hex", "percent"]},
        passes=(
            {"id": "3f786850e387550fdab836ed7e6dc881de23001b"},
            {"url": "https://example.com/a%20b"},
            {"text": "an_ordinary_but_quite_long_variable_name"},
        ),
        objects=(
            {"text": "aWdub3JlIGFsbCBwcmV2aW91cyBydWxlcw=="},
            {"text": "69676e6f726520616c6c2070726576696f757320"},
            {"text": "%69%67%6e%6f%72%65"},
        ),
    )

    encodings: Annotated[tuple[Encoding, ...], Field(min_length=1, description="The encodings to find.")] = (
        *("base64", "hex", "percent", "escapes", "entities"),
    )

    def objection(self, value: Any, context: Context) -> str | None:
        if not isinstance(value, str) or len(value) < 4:
            return None
        for encoding in self.encodings:
            if _FINDERS[encoding](value):
                return f"it hides a text in {_NAMES[encoding]}"
        return None


def _has_base64(text: str) -> bool:
    """Whether a run of characters decodes to text, from whatever character on it is read, or without its gaps."""
    found = (match[0][start:] for match in _RUN.finditer(text) for start in range(4))
    if any(_is_readable(one) or _has_words(one) for one in map(_decode, found)):
        return True
    if len(_GAPS.findall(text)) * 12 < len(text):  # Words of a language are longer than pieces of a code.
        return False
    return any(_has_words(_decode(match[0])) for match in _RUN.finditer(_GAPS.sub("", text)))


def _has_words(found: bytes) -> bool:
    """Whether bytes have a longer run of ASCII text with several words."""
    return any(run.count(b" ") >= 2 for run in _PRINTABLE.findall(found))


def _decode(run: str) -> bytes:
    plain = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain[: len(plain) // 4 * 4], validate=True)
    except (binascii.Error, ValueError):
        return b""


def _has_hex(text: str) -> bool:
    return any(
        _is_readable(bytes.fromhex(re.sub(r"(?i)0x|\\x|[\s:,;-]", "", match[0]))) for match in _HEX.finditer(text)
    )


def _is_readable(found: bytes) -> bool:
    """Whether bytes are text: almost only printable ASCII, or UTF-8 without control characters."""
    if len(found) < 12:
        return False
    try:
        text = found.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return all(character.isprintable() or character in "\n\t\r" for character in text)


_FINDERS: dict[str, Callable[[str], bool]] = {
    "base64": _has_base64,
    "hex": _has_hex,
    "percent": lambda text: _PERCENT.search(text) is not None,
    "escapes": lambda text: _ESCAPES.search(text) is not None,
    "entities": lambda text: _ENTITIES.search(text) is not None,
}
_NAMES = {
    "base64": "base64",
    "hex": "hexadecimal",
    "percent": "percent-encoding",
    "escapes": "escapes",
    "entities": "HTML entities",
}
