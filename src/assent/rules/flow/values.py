"""Values in a text that can lead an effect somewhere: addresses, links, accounts, ids, file names, amounts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from assent.rules.flow.text import exact, squeezed, word_set

EXTERNAL = frozenset({"address", "link", "account", "phone"})
"""Kinds of values that lead out of the caller's own systems."""

_ADDRESS = re.compile(r"(?<![\w.+-])\w[\w!#$%&*+=?^~.-]{0,63}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w-])")
_LINK = re.compile(
    r"(?<![\w@.-])(?:[a-z][a-z0-9+.-]{1,20}://[^\s\"'<>`]{2,2000}"
    r"|(?:[\w](?:[\w-]{0,61}[\w])?\.){1,8}[^\W\d_]{2,24}(?::\d{1,5})?(?:[/?#][^\s\"'<>`]{0,2000})?(?![\w@]))"
)
_ACCOUNT = re.compile(
    r"(?<![\w-])[a-z]{2}\d\d(?:[a-z0-9]{10,30}|[ -][a-z0-9]{4}(?:[ -](?=[a-z]{0,3}\d)[a-z0-9]{1,4}){2,8})(?![\w-])"
)
_MARKS = re.compile(r"[@.:\d]")
_SENTENCE = re.compile(r"(?<=[a-z0-9])\.(?=[A-Z][a-z]+\b(?![\w.+-]*@))")
_NUMBER = re.compile(r"(?<![\w.,+-])\+?\d(?:[ ()./-]{0,2}\d){7,18}(?![\w-])")
_AMOUNT = re.compile(
    r"(?<![\w.,-])\d{1,3}(?:[, ']\d{3})+(?:\.\d{1,2})?(?![\w,])|(?<![\w.,-])\d{1,9}(?:[.,]\d{1,2})?(?![\w,]|\.\d)"
)
_ID = re.compile(r"(?<![\w@./-])(?:[a-z]+[_-]?\d|\d+[_-]?[a-z])[a-z0-9_-]{2,80}(?![\w@])")
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}:\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_LONG_NUMBER = re.compile(r"\d(?:[ ()./-]{0,2}\d){5}")
_DIGIT = re.compile(r"\d")
_FILES = word_set(
    "txt md pdf doc docx xls xlsx ppt pptx odt ods csv tsv json yaml yml toml xml html htm log ini cfg conf env "
    "py js ts go rs java rb php sh bat sql zip tar gz tgz rar png jpg jpeg gif svg webp mp3 mp4 wav mov key pem "
    "eml ics"
)
_ENDINGS = word_set(
    "com org net edu gov mil int info biz name pro io dev app ai me tv xyz online site top club shop store cloud "
    "tech page link click live news blog wiki zip mobi email agency digital network systems solutions world today "
    "space website example test invalid localhost local internal onion"
)
_AFTER_HOST = re.compile(r"[/?#\\]")
_TRAILING = ".,;:!?)]}*_~"
LONGEST_VALUE = 2_000
"""A longer text is no value."""
MOST_VALUES = 2_000
"""How many values of one text are read."""


class Value(NamedTuple):
    """One value: its kind, the form in which it must be equal, and the form in which it is recognised in disguise."""

    kind: str
    exact: str
    squeezed: str


def values_in(text: str) -> Iterator[Value]:
    """The values of a text, each with its kind. Kinds that cannot be told apart are `id`."""
    plain = exact(_SENTENCE.sub(". ", text))  # A missing space after a sentence would make a word part of a link.
    left = MOST_VALUES
    for value in _all_in(plain):
        yield value
        left -= 1
        if not left:
            return


def _all_in(plain: str) -> Iterator[Value]:
    if "@" in plain:
        for found in _ADDRESS.finditer(plain):
            yield Value("address", found[0].strip("."), squeezed(found[0]))
    if "." in plain or "://" in plain:
        for found in _LINK.finditer(plain):
            yield from _links(found[0].rstrip(_TRAILING))
    if _DIGIT.search(plain) is not None:
        if _LONG_NUMBER.search(plain) is not None:
            yield from _accounts(plain)
        for found in _AMOUNT.finditer(plain):
            yield Value("amount", amount_of(found[0]), squeezed(found[0]))
        for found in _ID.finditer(plain):
            yield Value("id", found[0], squeezed(found[0]))


def _accounts(plain: str) -> Iterator[Value]:
    for found in _ACCOUNT.finditer(plain):
        bare = squeezed(found[0])
        yield Value("account", bare, bare)
    for found in _NUMBER.finditer(plain):
        if not _DATE.match(found[0]):
            bare = squeezed(found[0])
            yield Value("phone" if found[0].startswith("+") else "account", bare, bare)


def _links(text: str) -> Iterator[Value]:
    if text.rpartition(".")[2] in _FILES and "://" not in text and "/" not in text:
        yield Value("file", text, squeezed(text))
        return
    bare = bare_link(text)
    if not _is_link(text):
        return
    yield Value("link", bare, squeezed(bare))
    if (host := host_of(text)) != bare:
        yield Value("host", host, squeezed(host))


def _is_link(text: str) -> bool:
    """Whether a dotted text is a link: by its scheme, its `www.`, or an ending that hosts have. `end.Next` is none."""
    ending = host_of(text).rpartition(".")[2]
    return "://" in text or text.startswith("www.") or ending in _ENDINGS or len(ending) == 2 or not ending.isascii()


def bare_link(text: str) -> str:
    """A link without its scheme, its `www.` and a slash at its end."""
    after = text.partition("://")[2] or text
    return after.removeprefix("www.").rstrip("/")


def host_of(text: str) -> str:
    """The host of a link, without `www.` and port."""
    authority = _AFTER_HOST.split(bare_link(text), maxsplit=1)[0].rpartition("@")[2]
    return authority.partition(":")[0].removeprefix("www.")


def amount_of(text: str) -> str:
    """An amount or number as digits: `1,200.00` and `1200` are equal."""
    plain = text.replace("'", "").replace(" ", "")
    if "," in plain:
        head, _, tail = plain.rpartition(",")
        plain = plain.replace(",", "") if len(tail) == 3 or "." in plain else f"{head.replace(',', '')}.{tail}"
    if plain.isdecimal() and plain.isascii():
        return plain.lstrip("0") or "0"  # A long account number keeps all its digits.
    try:
        return f"{float(plain):.10g}"
    except ValueError:
        return plain


def whole_value(text: str) -> Value | None:
    """The value that a whole text is, if it is an address, a link, an account or a file name; otherwise None."""
    if len(text) > LONGEST_VALUE or _MARKS.search(text) is None:
        return None
    plain = exact(text)
    bare, link = squeezed(plain), bare_link(plain.rstrip(_TRAILING))
    for value in _all_in(plain):
        if value.kind in ("address", "account", "phone") and bare == value.squeezed:
            return value
        if value.kind in ("link", "file") and link in (value.exact, bare_link(value.exact)):
            return value
    return None
