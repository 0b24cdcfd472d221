"""Finds the host of every link and mail address in a text, in every way that programs read it.

Links follow the WHATWG URL standard (browsers, Node, Python's newer clients) and RFC 3986 (curl, older clients):
tabs and line ends inside a link are dropped, a backslash ends a host like a slash, any number of slashes may follow
`https:`. Addresses follow RFC 5322 with its spaces and comments. A host that two of these read differently is
returned as `UNCLEAR`, which no domain allows.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Annotated
from urllib.parse import unquote

from pydantic import AfterValidator, Field

UNCLEAR = ""
"""The host of a link or address that programs read differently."""
DOTS = str.maketrans("\u3002\uff61", "..")
"""Dots of domain names in other scripts, which name servers and mail programs read as dots."""

_AUTHORITY = r"([^/?#\\<> \t\r\n]*)"
# Browsers accept any number of slashes, even none, after the schemes they know.
_LINK = re.compile(rf"(?:(?:https?|wss?|ftp|file):[/\\]*|:[/\\]{{2,}}){_AUTHORITY}(\\?)", re.IGNORECASE)
# A link without a scheme uses that of its page. It needs a dot, because two slashes also start comments.
_BARE_LINK = re.compile(rf"(?<![\w:/\\.~-])[/\\]{{2,}}(?=[^/?#\\<>\s]*[.\u3002]\w){_AUTHORITY}(\\?)")
# A text that is nothing else is such a link even without a dot: `//localhost/x`.
_WHOLE_LINK = re.compile(rf"[\x00-\x20]*[/\\]{{2,}}(?=[^\s/\\]\S*\s*\Z){_AUTHORITY}(\\?)")
# Mail programs and chats make a link of it.
_WWW = re.compile(r"(?<![\w@.-])www\.([\w-]+(?:[.\u3002][\w-]+)+)", re.IGNORECASE)
_SLASHES = re.compile(r"[/\\]{2}")
_HOST = re.compile(r"([\w-]+(?:\.[\w-]+)*)\.?(?::\d{0,5})?\Z")
_CLOSING = "\"'`)]},;:!*."
_ADDRESS = re.compile(r"@\s*([\w.-]*)")
# RFC 5322 allows spaces and comments between the parts of a domain: then a dot, or a dot and then a domain.
_CONTINUES = re.compile(r"(?:\s|\([^()]{0,200}\)){0,50}\.\s*[\w-]|(?<=\.)[ \t\r\n]{1,50}[\w-]+\.[\w-]")
_DROPPED = re.compile(r"[\t\r\n]+")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
_BEGINS_AS_LINK = re.compile(r"[\x00-\x20]*(?:[a-z][a-z0-9+.\t\r\n-]{0,40}:|[/\\][\t\r\n]*[/\\])", re.IGNORECASE)
_IN_ADDRESS = re.compile(r"[\t\r\n]+(?=[.@:])|(?<=[.@:])[\t\r\n]+(?=[/\\.@])")
_ENCODED = re.compile(r"%(?:25)*(?:3a|2f|40)", re.IGNORECASE)
_QUOTE = re.compile(r"[\"'`]")


def as_configured(domain: str) -> str:
    """A configured domain in the form in which hosts are compared."""
    return unicodedata.normalize("NFKC", domain).strip().rstrip(".").lower()


Domain = Annotated[str, Field(min_length=1, pattern=r"^[^\s@/:]+$"), AfterValidator(as_configured)]


def in_domains(host: str, domains: Iterable[str]) -> bool:
    """Whether a host is one of the domains or below one."""
    return any(host == domain or host.endswith("." + domain) for domain in domains)


def decoded(text: str) -> str:
    """The text without percent-encoding, also where it is encoded several times."""
    for _ in range(4):
        text, before = unquote(text), text
        if text == before:
            break
    return text


def hosts_in(text: str) -> list[str]:
    """The host of every link and mail address in a text, by every reading; `UNCLEAR` if readings differ."""
    if text.isalnum():
        return []
    return [host for reading in _readings(text) for host in _hosts(reading)]


def _readings(text: str) -> list[str]:
    """The text as it is, and as programs see it that decode, normalise or drop parts of it."""
    found = [text]
    if not text.isascii():
        found.append(unicodedata.normalize("NFKC", text))
        found.append("".join(c for c in found[-1] if unicodedata.category(c) != "Cf"))
        found += [one.translate(DOTS) for one in found[1:]]
    if "&" in text:
        found.append(html.unescape(text))
    if "%" in text and _ENCODED.search(text):
        found.append(decoded(text))
    found += [_CONTROLS.sub("", one) for one in found if _CONTROLS.search(one)]
    for one in [one for one in found if _DROPPED.search(one)]:
        found += [_IN_ADDRESS.sub("", one), *_join_links(one)]
    return list(dict.fromkeys(found))


def _join_links(text: str) -> Iterator[str]:
    """The links without their tabs and line ends: the whole text if it is a link, and links in quotes."""
    for piece in (text, *_QUOTE.split(text)):
        if _DROPPED.search(piece) and _BEGINS_AS_LINK.match(piece):
            whole = _DROPPED.sub("", piece)
            link = _LINK.search(whole)
            if link is None or whole[link.end() : link.end() + 1] != " ":  # No parser accepts a host with a space.
                yield whole


def _hosts(text: str) -> Iterator[str]:
    yield from (_host(match[1]) for match in _WWW.finditer(text))
    if "@" not in text and ":" not in text and not _SLASHES.search(text):
        return
    for pattern in (_LINK, _BARE_LINK):
        for match in pattern.finditer(text):
            yield UNCLEAR if match[2] else _host(match[1])
    if (whole := _WHOLE_LINK.match(text)) is not None:
        yield UNCLEAR if whole[2] else _host(whole[1])
    without_links = _BARE_LINK.sub(" ", _LINK.sub(" ", text))
    for match in _ADDRESS.finditer(without_links):
        yield UNCLEAR if _CONTINUES.match(without_links, match.end()) else _host(match[1])


def _host(authority: str) -> str:
    """The host of a link's authority: without user name, port and closing punctuation."""
    found = _HOST.match(authority.rpartition("@")[2].rstrip(_CLOSING))
    return UNCLEAR if found is None else found[1].lower()
