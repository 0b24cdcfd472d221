"""Forms of a text in which values are compared: exact, folded, in words, and decoded."""

from __future__ import annotations

import base64
import binascii
import html
import re
from collections.abc import Iterator
from urllib.parse import unquote

from assent.rules.guards.text import fold, skeleton

MOST_TEXT = 32_768
"""How many characters of one text are read."""
_WORD = re.compile(r"[^\W_]+")
_OTHER = bytes(range(48)) + bytes(range(58, 65)) + bytes(range(91, 97)) + bytes(range(123, 128))
"""The ASCII characters that are neither letters nor digits."""
_LOWER = bytes(range(256)).lower()
_SPACED = _LOWER.translate(bytes.maketrans(_OTHER, b" " * len(_OTHER)))
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}={0,2}")
_HEX = re.compile(r"\b(?:[0-9a-fA-F]{12,}|(?:[0-9a-fA-F]{2}[ :]){5,}[0-9a-fA-F]{2})\b")
_SOME_HEX = re.compile(r"[0-9a-fA-F][0-9a-fA-F](?:[0-9a-fA-F]{10}|[ :][0-9a-fA-F]{2}[ :])")
_PLAIN_TEXT = re.compile(r"(?:[A-Za-z0-9_,!?'-]{1,11} ){0,4}[A-Za-z0-9_,!?'-]{0,11}")
_SPELLED_SIGN = re.compile(r"dot|punkt|arroba")
_DIGIT = re.compile(r"\d")
_DISGUISED_SIGN = re.compile(
    r"\s(?:dot|punkt|arroba)\s|[\[({](?:at|dot|@|\.)[\])}]|\s[@.]\s|\w\s@|@\s\w", re.IGNORECASE
)
_SPOKEN = re.compile(r"\s*[\[({<]?\s*\b(at|dot|punkt|arroba)\b\s*[\])}>]?\s*", re.IGNORECASE)
_SPACED_SIGN = re.compile(r"(?<=\w)\s*[\[({]?\s*([@.])\s*[\])}]?\s*(?=\w)")
_SIGNS = {"at": "@", "arroba": "@", "dot": ".", "punkt": "."}
_MOST_DECODED = 20


def word_set(text: str) -> frozenset[str]:
    """The words of a list that is written as running text."""
    return frozenset(text.split())


def exact(text: str) -> str:
    """The text in which two spellings of the same value are equal: case, width and invisible characters are ignored.

    Look-alike letters stay different: an address with a Cyrillic letter is another address.
    """
    return " ".join(text.lower().split()) if text.isascii() else fold(text).strip()


def words(text: str) -> list[str]:
    """The words of a text as a person reads them: without case, accents, look-alike letters and punctuation."""
    if text.isascii():
        return text.encode().translate(_SPACED).decode().split()
    return _WORD.findall(skeleton(text))


def squeezed(text: str) -> str:
    """The letters and digits of a text alone, so that spaces, line ends and punctuation cannot hide a value."""
    if text.isascii():
        return text.encode().translate(_LOWER, _OTHER).decode()
    return "".join(words(text))


def may_hide(text: str) -> bool:
    """Whether `decoded` can find something: false for most short texts."""
    return not (_PLAIN_TEXT.fullmatch(text) and _SPELLED_SIGN.search(text.lower()) is None)


def decoded(text: str) -> Iterator[str]:
    """The texts that are hidden in a text: percent, HTML, base64 and hexadecimal encodings, and spelled-out signs."""
    if "%" in text and (plain := unquote(text)) != text:
        yield plain
    if "&" in text and (plain := html.unescape(text)) != text:
        yield plain
    longest = max(map(len, text.split()), default=0) if text.isascii() else len(text)
    if longest > 11:
        for found in _BASE64.findall(text)[:_MOST_DECODED]:
            if (hidden := _from_base64(found)) is not None:
                yield hidden
    if (longest > 11 or len(text) > 16) and _SOME_HEX.search(text) is not None and _DIGIT.search(text) is not None:
        for found in _HEX.findall(text)[:_MOST_DECODED]:
            if (hidden := _readable(_from_hex(found))) is not None:
                yield hidden
    if _may_be_spoken(text) and (hidden := _spoken(text)) is not None:
        yield hidden


def _may_be_spoken(text: str) -> bool:
    """Whether `_DISGUISED_SIGN` can match, told by searches that cost little."""
    if not text.isascii() or not text.isprintable() or "[" in text or "(" in text or "{" in text:
        return True
    if " @" in text or "@ " in text or " ." in text:
        return True
    lower = text.lower()
    return "dot" in lower or "punkt" in lower or "arroba" in lower


def _spoken(text: str) -> str | None:
    """The text with `at` and `dot` as signs, and without gaps around signs, as in `ann [at] x dot com`."""
    if _DISGUISED_SIGN.search(text) is None:
        return None
    signs = _SPOKEN.sub(lambda found: _SIGNS[found[1].lower()], text)
    return _SPACED_SIGN.sub(r"\1", signs)


def _from_base64(text: str) -> str | None:
    if text.isalpha() and (text.islower() or len(text) < 16):
        return None  # A plain word.
    plain = text.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return _readable(base64.b64decode(plain + "=" * (-len(plain) % 4)))
    except (binascii.Error, ValueError):
        return None


def _from_hex(text: str) -> bytes:
    digits = text.replace(" ", "").replace(":", "")
    return bytes.fromhex(digits[: len(digits) // 2 * 2])


def _readable(data: bytes) -> str | None:
    try:
        plain = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return plain if len(plain) >= 4 and plain.isprintable() else None
