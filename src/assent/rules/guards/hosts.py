"""Reads links and hosts as HTTP clients do, and tells public addresses from others.

A text that a guard's field holds is read as a whole: one link, or one host with what may follow it.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import NamedTuple

from assent.core.link_hosts import host_of_authority
from assent.rules.guards.addresses import UNCLEAR, hosts_in, in_domains
from assent.rules.guards.text import skeleton

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_EDGES = "".join(map(chr, range(0x21)))
_DROPPED = str.maketrans("", "", "\t\n\r")
_URL = re.compile(r"([a-z][a-z0-9+.-]{0,40}):([/\\]*)([^/\\?#]*)", re.IGNORECASE)
_WHOLE = re.compile(r"([a-z][a-z0-9+.-]{0,40}:)?//([^/\\?#]*)", re.IGNORECASE)
_AFTER_HOST = re.compile(r"(?:[^:\[\]]+|\[[^\[\]]*\])(?::[0-9]{0,5})?")
_AUTHORITY = re.compile(r"[^/\\?#]*")
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f]")
_NETWORK = re.compile(r"[0-9a-fA-F.:]+/[0-9]{1,3}")
_PORT = re.compile(r":([0-9]{0,5})\Z")
_WEB = frozenset({"http", "https", "ws", "wss", "ftp"})
DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}
LONGEST_HOST = 2_000
LOCAL_NAMES = ("localhost", "local", "internal", "intranet", "lan", "home.arpa", "localdomain", "corp")


class Link(NamedTuple):
    """A link's scheme, host and port; the host is `UNCLEAR` if programs read it differently."""

    scheme: str
    host: str
    port: int | None


def read_link(text: str) -> Link | None:
    """The link that a whole text is; None if it is none."""
    found = _URL.match(text.strip(_EDGES).translate(_DROPPED))
    if found is None:
        return None
    scheme, slashes, authority = found[1].lower(), found[2], found[3]
    if scheme not in _WEB and len(slashes) < 2:
        return Link(scheme, "", None)
    host = host_of_authority(authority).rstrip(".")
    port = _PORT.search(authority.rpartition("@")[2])
    number = int(port[1]) if port and port[1] else DEFAULT_PORTS.get(scheme)
    others = set(hosts_in(text)) - {host}
    odd = slashes != "//" or "\\" in text or "@" in authority or _BLANK.search(text.strip(_EDGES)) is not None
    if odd or others or not _is_plain(host):
        return Link(scheme, UNCLEAR, number)
    return Link(scheme, host, number)


def _is_plain(host: str) -> bool:
    return bool(re.fullmatch(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]", host))


def whole_hosts(text: str) -> list[str] | None:
    """Every host of a text that is one link with a scheme; None for any other text."""
    plain = text.strip(_EDGES)
    whole = _WHOLE.match(plain)
    if whole is None or (whole[1] or "").lower() == "file:" or _BLANK.search(plain):
        return None
    host = host_of_authority(whole[2]).rstrip(".")
    is_one = _is_plain(host) and not whole[2].startswith("-") and _AFTER_HOST.fullmatch(whole[2].rpartition("@")[2])
    return [host if is_one else UNCLEAR, *hosts_in(text)]


def first_host(text: str) -> str:
    """The host that a program opens for a whole text, with or without a scheme; `UNCLEAR` if it begins with none."""
    plain = text.strip(_EDGES).translate(_DROPPED)
    whole = _URL.match(plain)
    if whole is None or (whole[1].lower() not in _WEB and len(whole[2]) < 2):
        authority = _AUTHORITY.match(plain.lstrip("/\\"))[0]  # type: ignore[index]
    else:
        authority = whole[3]
    is_one = _AFTER_HOST.fullmatch(authority.rpartition("@")[2])
    return host_of_authority(authority).rstrip(".") if is_one else UNCLEAR


def opened_host(text: str) -> str | None:
    """The host of a text that is nothing but an IP address or a local name with a port or a path; else None."""
    if len(text) > LONGEST_HOST or _NETWORK.fullmatch(text.strip(_EDGES)):
        return None
    host = first_host(text)
    after = (text.strip(_EDGES)[:1].isalnum() or text.strip(_EDGES)[:1] == "[") and re.search(
        r"[:/?#\\]", text
    ) is not None
    named = (host.count(".") == 3 or host.startswith("[")) and as_address(host) is not None
    return host if after and (named or (host and in_domains(host, LOCAL_NAMES))) and " " not in text else None


def hosts_of(text: str) -> list[str]:
    """The host of every link in a text, in ASCII and with numeric addresses in their usual form."""
    stripped = text.strip(_EDGES).translate(_DROPPED)
    whole = _URL.match(stripped)
    found = [host_of_authority(whole[3])] if whole and (whole[1].lower() in _WEB or len(whole[2]) >= 2) else []
    if found and found[0].startswith("[") and as_address(found[0]) is not None and "@" not in text:
        return found  # An IPv6 address has no other reading.
    found += [host_of_authority(host) if host != UNCLEAR else UNCLEAR for host in hosts_in(text)]
    return list(dict.fromkeys(host.rstrip(".") for host in found))


def as_address(host: str) -> Address | None:
    """The IP address that a host is written as, in any notation; None for a name."""
    plain = host if host.count(":") > 1 else host_of_authority(host)
    plain = plain.strip("[]").partition("%")[0]
    try:
        return ipaddress.ip_address(plain)
    except ValueError:
        return None


def is_public(address: Address) -> bool:
    """Whether an address is on the public Internet, and every address that is embedded in it too."""
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global and not address.is_multicast and not any(address in one for one in _SPECIAL_IPV4)
    inside = embedded(address)
    if inside is not None:
        return is_public(inside)
    return address in _UNICAST and not any(address in one for one in _SPECIAL)


def embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address inside an IPv6 one: mapped, NAT64, 6to4, ISATAP."""
    found = address.ipv4_mapped or address.sixtofour
    if found is None and (address in _NAT64 or (int(address) >> 32) & 0xFDFFFFFF == 0x5EFE):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return found


_SPECIAL_IPV4 = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24")))
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_UNICAST = ipaddress.ip_network("2000::/3")
"""All that is given out for the public Internet. Whatever is outside is special, known or not."""
_SPECIAL = tuple(map(ipaddress.ip_network, ("2001::/23", "2001:db8::/32", "3fff::/20")))


def is_local_name(host: str) -> bool:
    """Whether a name is by convention one of a private network: no dot, or a private ending."""
    return "." not in host or in_domains(host, LOCAL_NAMES)


@lru_cache(1024)
def host_forms(host: str) -> frozenset[str]:
    """A host in the forms in which it is compared with blocked ones: as it is, decoded, and with look-alikes."""
    decoded = ".".join(map(_decode_label, host.split(".")))
    return frozenset({host, host_of_authority(host).rstrip("."), skeleton(decoded), skeleton(host)})


def _decode_label(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except (UnicodeError, ValueError):
        return label


def read_network(text: str) -> Network:
    """A network in CIDR form, or one address; ValueError says what is wrong."""
    try:
        return ipaddress.ip_network(text.strip(), strict=False)
    except ValueError:
        raise ValueError("this is not an IP address or range; write 10.0.0.0/8 or 2001:db8::/32") from None
