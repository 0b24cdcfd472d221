"""Values in a text that can lead an effect somewhere: addresses, links, accounts, ids, file names, amounts.

Values are compared in forms of the text: exact, in words, and decoded.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import html
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, cast
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
_DIGIT = re.compile(r"\d")
_DISGUISED_SIGN = re.compile(
    r"\s(?:dot|punkt|arroba)\s|[\[({](?:at|dot|@|\.)[\])}]|\s[@.]\s|\w\s@|@\s\w", re.IGNORECASE
)
_BRACKETED = re.compile(r"[\[({](?:at|dot|@|\.)[\])}]", re.IGNORECASE)
_SPOKEN = re.compile(r"\s*[\[({<]?\s*\b(at|dot|punkt|arroba)\b\s*[\])}>]?\s*", re.IGNORECASE)
_SPACED_SIGN = re.compile(r"(?<=\w)\s*[\[({]?\s*([@.])\s*[\])}]?\s*(?=\w)")
_SIGNS = {"at": "@", "arroba": "@", "dot": ".", "punkt": "."}
_MOST_DECODED = 20


def word_set(text: str) -> frozenset[str]:
    """The words of a list that is written as running text."""
    return frozenset(text.split())


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
_DOTTED = re.compile(r"\.[^\W\d_]{2}")
_NUMBERS = re.compile(r"\d \d")
_MARKS = re.compile(r"[@.:\d]")
"""Every kind of value has one of these."""
_SENTENCE_END = re.compile(r"\.[A-Z]")
_SENTENCE = re.compile(r"(?<=[a-z0-9])\.(?=[A-Z][a-z]+\b(?![\w.+-]*@))")
_NUMBER = re.compile(r"(?<![\w.,+-])\+?\d(?:[ ()./-]{0,2}\d){7,18}(?![\w-])")
# These two begin with a character, because a search for one is fast.
_AMOUNT = re.compile(
    r"\d(?<![\w.,-]\d)"
    r"(?:\d{0,2}(?:[, ']\d{3})+(?:\.\d{1,2})?(?![\w,])|\d{0,8}(?:[.,]\d{1,2})?(?![\w,]|\.\d))"
)
_ID = re.compile(r"[a-z\d](?<![\w@./-].)(?:(?<=[a-z])[a-z]*[_-]?\d|(?<=\d)\d*[_-]?[a-z])[a-z0-9_-]{2,80}(?![\w@])")
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}:\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_LONG_NUMBER = re.compile(r"\d(?:[ ()./-]{0,2}\d){5}")
_LETTERS, _DIGITS = "abcdefghijklmnopqrstuvwxyz", "0123456789"


def _signs(kinds: dict[str, str]) -> bytes:
    """A table that turns ASCII characters into the sign of their kind, and all others into commas."""
    return bytes(ord(next((sign for some, sign in kinds.items() if chr(one) in some), ",")) for one in range(256))


_SHAPE = _signs({_DIGITS: "0", _LETTERS: "a", "()./": ".", " ": " ", "-": "-", "_": "_"})
"""Tells digits, letters and the signs between them apart: digit runs and account numbers show without a search."""
_GAPS = b" .-"
_ACCOUNT_START = re.compile(r"(?<![a0_-])aa00")
_ENCODED = _LETTERS + _LETTERS.upper() + _DIGITS + "+-/_"
_HIDING = _signs({_ENCODED: "a", " :\t\n\v\f\r\x1c\x1d\x1e\x1f": " ", ".": ".", "@": "@", "%&": "%", "[({": "("})
"""Shows what may hide a value: long runs of `a` can be encoded, and the other signs can be spelled out."""
_AROUND_WORD = ".,;:!?()\"'<>[]{}*`~"
_BEFORE_AMOUNT, _AFTER_AMOUNT = "$#(\"'", ".;:!?)\"'"
_PLAIN_ADDRESS = re.compile(r"(?:[a-z]{1,31}\.)?[a-z]{1,31}[0-9]{0,7}@(?:[a-z][a-z-]{0,62}\.){1,8}[a-z]{2,24}")
_PLAIN_LINK = re.compile(r"https?://[a-z][a-z0-9-]{0,62}(?:\.[a-z0-9-]{1,63}){1,8}(/[a-z0-9/-]{0,500})?")
"""An address, and a link, that cannot be read as anything else besides; the path of the link can have amounts."""
_BEFORE_NUMBER = "0123456789+-.iInN \t\n\r\v\f\x1c\x1d\x1e\x1f"
"""How a text begins that `float` can read."""
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


_as_value = cast("Callable[[tuple[str, str, str]], Value]", partial(tuple.__new__, Value))
"""`Value` of kind, exact and squeezed form, without a Python function between."""


class Reading:
    """One text, read once."""

    __slots__ = ("_hidden", "_words", "is_cut", "squeezed", "text", "value", "values", "whole")
    values: list[Value]
    """The values of the text, each once and with its kind. Kinds that cannot be told apart are `id`."""
    whole: Value | None
    """The value that the whole text is, if it is an address, a link, an account or a file name."""
    value: Value
    """The value that the whole text is; any other text is a value of its own."""

    def __init__(self, text: str) -> None:
        self._hidden: tuple[Reading, ...] | None = None
        self._words: list[str] | None = None
        self.is_cut = len(text) > MOST_TEXT
        """Whether the text has more than what is read of it: the rest may be anything."""
        if self.is_cut:
            bare = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
            text = text[:MOST_TEXT]
        elif text.isascii():
            bare = squeezed(text)
        else:
            self._words = words(text)
            bare = "".join(self._words)
        self.text = text
        self.squeezed = bare
        """`squeezed` of the text; of one that is cut, a digest of all of it, so that no other is equal."""
        self.whole = None
        if bare.isdigit():
            self._read_number(text, bare)
            return
        self.value = value = _as_value(("text", bare, bare))
        if not text.isascii():
            self._read_values(text)
        elif bare.isalpha() and "." not in text and "@" not in text and ":" not in text:
            self.values = []
        elif "@" in text and _PLAIN_ADDRESS.fullmatch(text) is not None:
            self.value = self.whole = value = _as_value(("address", text, bare))
            self.values = [value]
        elif len(bare) + text.count(" ") != len(text) or not self._read_words(text.lower().split()):
            self._read_values(text)

    def _read_words(self, words: list[str]) -> bool:
        """Read words of letters and digits alone, if one of them has digits and is too short for an account."""
        odd = [word for word in words if not word.isalpha()]
        if len(odd) != 1:
            return False
        [word] = odd
        if word.isdigit():
            self.values = [_as_value(("amount", word.lstrip("0") or "0", word))]
            return len(word) < 8
        is_id = len(word.lstrip(_DIGITS if word[0] < "a" else _LETTERS)) > 2
        self.values = [_as_value(("id", word, word))] if is_id else []
        return len(word) < 14

    def _read_values(self, text: str) -> None:
        plain = exact(text)
        found = whole_among = _all_in(plain)
        if "." in text and _SENTENCE_END.search(text) is not None:
            # A missing space after a sentence would make a word part of a link.
            found = _all_in(exact(_SENTENCE.sub(". ", text)))
        if len(found) > MOST_VALUES:
            self.is_cut, found = True, found[:MOST_VALUES]
        self.values = found
        if whole_among and whole_among[0].kind not in ("amount", "id") and len(text) <= LONGEST_VALUE:
            self.whole = self._find_whole(plain, whole_among)
            self.value = self.whole or self.value

    def _read_number(self, text: str, digits: str) -> None:
        """A text without letters; ASCII digits with at most a point among them, as in `12.50`, are read at once."""
        size, point = len(digits), text.find(".")
        self.value = _as_value(("number", amount_of(text), digits))
        if (text != digits and (len(text) != size + 1 or not 0 < point < size or size > 19)) or not text.isascii():
            self._read_values(text)
            return
        self.values = []
        if size < 11:
            self._hidden = ()
        if 7 < size < 20:
            self.value = self.whole = value = _as_value(("account", digits, digits))
            self.values.append(value)
        if (size if point < 0 else point) < 10 and (point < 0 or size - point < 3):
            self.values.append(_as_value(("amount", amount_of(text), digits)))

    @property
    def words(self) -> list[str]:
        if self._words is None:
            self._words = words(self.text)
        return self._words

    @property
    def hidden(self) -> tuple[Reading, ...]:
        """What the text hides in encodings and spelled-out signs."""
        if self._hidden is None:
            self._hidden = tuple(map(Reading, decoded(self.text))) if may_hide(self.text) else ()
        return self._hidden

    @property
    def all_values(self) -> list[Value]:
        """The values in the beginning of the text and in what it hides."""
        hidden = self.hidden if self._hidden is None else self._hidden
        return [*self.values, *(value for one in hidden for value in one.values)] if hidden else self.values

    def _find_whole(self, plain: str, found: list[Value]) -> Value | None:
        is_ascii, bare, link = self.text.isascii(), self.squeezed, ""
        if not is_ascii and _MARKS.search(self.text) is None:
            return None
        for value in found:
            kind = value[0]
            if kind in ("address", "account", "phone"):
                if not is_ascii:
                    is_ascii, bare = True, squeezed(plain)
                if bare == value.squeezed:
                    return value
            elif kind in ("link", "file"):
                link = link or bare_link(plain.rstrip(_TRAILING))
                if link in (value.exact, bare_link(value.exact)):
                    return value
        return None


class Readings(dict[str, Reading]):
    """The texts of one call, each read once. It ends with the call, so no text is kept."""

    def __missing__(self, text: str) -> Reading:
        found = self[text] = Reading(text)
        return found


def values_in(text: str) -> list[Value]:
    """The values of a text, each with its kind."""
    return Reading(text).values


def whole_value(text: str) -> Value | None:
    """The value that a whole text is, if it is an address, a link, an account or a file name; otherwise None."""
    return Reading(text).whole


def _all_in(plain: str) -> list[Value]:
    """The values in a text of one form, kind by kind: found word by word, each word once."""
    found: tuple[list[Value], ...] = [], [], [], [], []
    addresses, links, accounts, amounts, ids = found
    for word in dict.fromkeys(plain.split()):
        if word.isalpha():
            continue
        if not word.isascii():
            _search(word, addresses, links, amounts, ids)
            continue
        if word.isalnum():
            if word.isdigit():
                if len(word) < 10:
                    amounts.append(_as_value(("amount", word.lstrip("0") or "0", word)))
            elif 2 < len(word.lstrip(_DIGITS if word[0] < "a" else _LETTERS)) < 82:
                ids.append(_as_value(("id", word, word)))
            continue
        if "@" in word and _PLAIN_ADDRESS.fullmatch(word) is not None:
            addresses.append(_as_value(("address", word, squeezed(word))))
            continue
        if word.strip(_AROUND_WORD).isalpha():
            continue
        number = word.lstrip(_BEFORE_AMOUNT).rstrip(_AFTER_AMOUNT)
        whole, _, part = number.partition(".")
        if whole.isdigit() and (part.isdigit() or whole == number):
            if len(whole) < 10 and len(part) < 3:
                amounts.append(_as_value(("amount", amount_of(number), whole + part)))
        elif word[0] >= "a" and word.replace("-", "").replace("_", "").isalnum():
            if (found_id := _ID.match(word)) is not None:
                ids.append(_as_value(("id", found_id[0], squeezed(found_id[0]))))
        elif "://" in word and (link := _PLAIN_LINK.fullmatch(word)) is not None:
            _add_links(word, links)
            amounts += _amounts_in(link[1]) if link[1] else ()
        elif _MARKS.search(word) is not None:
            _search(word, addresses, links, amounts, ids)
    # Only amounts, accounts and phone numbers can contain a gap.
    if not plain.isascii():
        amounts = amounts if _NUMBERS.search(plain) is None else _amounts_in(plain)
        accounts = _accounts_in(plain)
    else:
        shape = plain.encode().translate(_SHAPE)
        if "0 0" in (signs := shape.decode()):
            amounts = _amounts_in(plain)
        digits = shape.translate(None, _GAPS).decode()
        if "000000" in digits and ("00000000" in digits or _ACCOUNT_START.search(signs) is not None):
            accounts = _accounts_in(plain)
    every = [*addresses, *links, *accounts, *amounts, *ids]
    return list(dict.fromkeys(every)) if len(every) > 1 else every


def _search(plain: str, addresses: list[Value], links: list[Value], amounts: list[Value], ids: list[Value]) -> None:
    """Every kind but accounts."""
    if "@" in plain:
        for found in _ADDRESS.finditer(plain):
            addresses.append(_as_value(("address", found[0].strip("."), squeezed(found[0]))))
    if "://" in plain or ("." in plain and _DOTTED.search(plain) is not None):
        for found in _LINK.finditer(plain):
            _add_links(found[0].rstrip(_TRAILING), links)
    if _DIGIT.search(plain) is not None:
        amounts += _amounts_in(plain)
        if plain.islower() or not plain.isascii():  # An id has a letter.
            ids += [_as_value(("id", found[0], squeezed(found[0]))) for found in _ID.finditer(plain)]


def _amounts_in(plain: str) -> list[Value]:
    return [_as_value(("amount", amount_of(found[0]), squeezed(found[0]))) for found in _AMOUNT.finditer(plain)]


def _accounts_in(plain: str) -> list[Value]:
    if _LONG_NUMBER.search(plain) is None:
        return []
    bare = [squeezed(found[0]) for found in _ACCOUNT.finditer(plain)]
    accounts = [_as_value(("account", one, one)) for one in bare]
    for found in _NUMBER.finditer(plain):
        if not _DATE.match(found[0]):
            one = squeezed(found[0])
            accounts.append(_as_value(("phone" if found[0][0] == "+" else "account", one, one)))
    return accounts


def _add_links(text: str, links: list[Value]) -> None:
    if "/" not in text and text.rpartition(".")[2] in _FILES:
        links.append(Value("file", text, squeezed(text)))
        return
    bare = bare_link(text)
    host = _host_in(bare)
    if not _is_link(text, host.rpartition(".")[2]):
        return
    links.append(Value("link", bare, squeezed(bare)))
    if host != bare:
        links.append(Value("host", host, squeezed(host)))


def _is_link(text: str, ending: str) -> bool:
    """Whether a dotted text is a link: by its scheme, its `www.`, or an ending that hosts have. `end.Next` is none."""
    return "://" in text or text.startswith("www.") or ending in _ENDINGS or len(ending) == 2 or not ending.isascii()


def bare_link(text: str) -> str:
    """A link without its scheme, its `www.` and a slash at its end."""
    after = text.partition("://")[2] or text
    return after.removeprefix("www.").rstrip("/")


def host_of(text: str) -> str:
    """The host of a link, without `www.` and port."""
    return _host_in(bare_link(text))


def _host_in(bare: str) -> str:
    for sign in "/?#\\":
        bare = bare.partition(sign)[0]
    return bare.rpartition("@")[2].partition(":")[0].removeprefix("www.")


def number_of(given: object) -> str:
    """`amount_of` a number, or of anything else as text."""
    kind = type(given)
    if kind is float:
        return f"{given:.10g}"
    text = str(given)
    return text if kind is int and text[0] != "-" else amount_of(text)


def amount_of(text: str) -> str:
    """An amount or number as digits: `1,200.00` and `1200` are equal."""
    plain = text.replace("'", "").replace(" ", "")
    if "," in plain:
        head, _, tail = plain.rpartition(",")
        plain = plain.replace(",", "") if len(tail) == 3 or "." in plain else f"{head.replace(',', '')}.{tail}"
    if plain.isdecimal() and plain.isascii():
        return plain.lstrip("0") or "0"  # A long account number keeps all its digits.
    if plain[:1] not in _BEFORE_NUMBER and plain.isascii():
        return plain
    try:
        return f"{float(plain):.10g}"
    except ValueError:
        return plain


def exact(text: str) -> str:
    """The text in which two spellings of the same value are equal: case, width and invisible characters are ignored.

    Look-alike letters stay different: an address with a Cyrillic letter is another address.
    """
    return " ".join(text.lower().split()) if text.isascii() else fold(text).strip()


def words(text: str) -> list[str]:
    """The words of a text as a person reads them: without case, accents, look-alike letters and punctuation."""
    plain = text if text.isascii() else skeleton(text)
    return plain.encode().translate(_SPACED).decode().split() if plain.isascii() else _WORD.findall(plain)


def squeezed(text: str) -> str:
    """The letters and digits of a text alone, so that spaces, line ends and punctuation cannot hide a value."""
    if text.isascii():
        return text.encode().translate(_LOWER, _OTHER).decode()
    return "".join(words(text))


def may_hide(text: str) -> bool:
    """Whether `decoded` can find something: false for most texts of a few words."""
    if not text.isascii():
        return True
    shape = text.encode().translate(_HIDING).decode()
    if "%" in shape or "aaaaaaaaaaaa" in shape or "aa aa aa aa aa aa" in shape:
        return True
    return (" " in shape or "(" in shape) and _may_be_spoken(text, shape)


def _may_be_spoken(text: str, shape: str) -> bool:
    """Whether `_DISGUISED_SIGN` can match, told by searches that cost little."""
    if " @" in shape or "@ " in shape or " ." in shape:
        return True
    lower = text.lower()
    if "dot" in lower or "punkt" in lower or "arroba" in lower:
        return True
    return "(" in shape and _BRACKETED.search(text) is not None


def decoded(text: str) -> Iterator[str]:
    """The texts that are hidden in a text: percent, HTML, base64 and hexadecimal encodings, and spelled-out signs."""
    if "%" in text and (plain := unquote(text)) != text:
        yield plain
    if "&" in text and (plain := html.unescape(text)) != text:
        yield plain
    longest = max(map(len, text.split()), default=0) if text.isascii() else len(text)
    if longest > 11:
        long = " ".join(one for one in dict.fromkeys(text.split()) if len(one) > 11)
        for found in _BASE64.findall(long)[:_MOST_DECODED]:
            if (hidden := _from_base64(found)) is not None:
                yield hidden
    if (longest > 11 or len(text) > 16) and _SOME_HEX.search(text) is not None and _DIGIT.search(text) is not None:
        for found in _HEX.findall(text)[:_MOST_DECODED]:
            if (hidden := _readable(_from_hex(found))) is not None:
                yield hidden
    shape = (" " + " ".join(text.split())).encode(errors="replace")  # A gap can be any of many characters.
    if _may_be_spoken(text, shape.translate(_HIDING).decode()) and (hidden := _write_spoken_signs(text)) is not None:
        yield hidden


def _write_spoken_signs(text: str) -> str | None:
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
