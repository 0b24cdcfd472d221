"""The host that a link leads to, as browsers and HTTP clients read it. A person may read another one."""

from __future__ import annotations

import re
import unicodedata
from ipaddress import IPv4Address
from urllib.parse import unquote

# Browsers accept any number of slashes, even none, after the schemes they know; other schemes need two.
_LINK = re.compile(r"(?:(?:https?|wss?|ftp):[/\\]*|[a-z][a-z0-9+.-]*:[/\\]{2})([^/\\?#]*)", re.IGNORECASE)
_READ = re.compile(r"[a-z][a-z0-9+.-]*://([a-z0-9-]+(?:\.[a-z0-9-]+)*)(?::\d+)?(?=[/?#]|\Z)", re.IGNORECASE)
_DROPPED = str.maketrans("", "", "\t\n\r")
_EDGES = "".join(map(chr, range(0x21)))
_DOTS = str.maketrans("。", ".")
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+", re.IGNORECASE)


def misread_host(text: str) -> str | None:
    """The host that a link leads to if a person may read a different one; otherwise None.

    Covers user parts, other scripts, percent-encoding, removed white space and addresses written as numbers.
    Names are not looked up: answers change, and the approval would change with them.
    """
    host, read = host_of_link(text), _READ.match(text)
    return None if not host or (read is not None and read[1].lower() == host) else host


def host_of_link(text: str) -> str | None:
    """The host that a link leads to; None for a text that is no link."""
    link = _LINK.match(text.strip(_EDGES).translate(_DROPPED))
    return None if link is None else host_of_authority(link[1])


def host_of_authority(authority: str) -> str:
    """The host of an authority: without user and port, in ASCII, an IPv4 address in its usual form."""
    after_user = authority.rpartition("@")[2]
    if after_user.startswith("["):
        return after_user.partition("]")[0].lower() + "]"
    host = unicodedata.normalize("NFKC", unquote(after_user.partition(":")[0])).translate(_DOTS).lower()
    host = ".".join(label if label.isascii() else _punycode(label) for label in host.split("."))
    return _address(host) or host


def _punycode(label: str) -> str:
    return "xn--" + label.encode("punycode").decode("ascii")


def _address(host: str) -> str | None:
    """The IPv4 address that a numeric host means, such as 2130706433 or 0x7f.1; None for any other host."""
    parts = host.removesuffix(".").split(".")
    if len(parts) > 4 or not all(map(_NUMBER.fullmatch, parts)):
        return None
    try:
        *first, last = [_number(part) for part in parts]
        whole = sum(number << (24 - 8 * place) for place, number in enumerate(first)) + last
        if any(number > 255 for number in first) or last >= 256 ** (4 - len(first)):
            return None
        return str(IPv4Address(whole))
    except ValueError:
        return None


def _number(part: str) -> int:
    if part.lower().startswith("0x"):
        return int(part[2:] or "0", 16)
    return int(part, 8) if part.startswith("0") and part != "0" else int(part)
