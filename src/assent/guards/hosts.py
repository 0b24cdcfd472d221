"""Reads links and hosts as HTTP clients do, and tells public addresses from others."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from assent.core.link_hosts import host_of_authority
from assent.guards.addresses import UNCLEAR, hosts_in
from assent.guards.text import skeleton

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_EDGES = "".join(map(chr, range(0x21)))
_DROPPED = str.maketrans("", "", "\t\n\r")
_URL = re.compile(r"([a-z][a-z0-9+.-]{0,40}):([/\\]*)([^/\\?#]*)", re.IGNORECASE)
_PORT = re.compile(r":([0-9]{0,5})\Z")
_WEB = frozenset({"http", "https", "ws", "wss", "ftp"})
DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}
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
    if slashes != "//" or "\\" in text or "@" in authority or others or not _is_plain(host):
        return Link(scheme, UNCLEAR, number)
    return Link(scheme, host, number)


def _is_plain(host: str) -> bool:
    return bool(re.fullmatch(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]", host))


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
    return all(one.is_global and not one.is_multicast for one in (address, *_embedded(address)))


def _embedded(address: Address) -> Iterator[Address]:
    """The IPv4 addresses inside an IPv6 one: mapped, 6to4, Teredo, NAT64."""
    if isinstance(address, ipaddress.IPv4Address):
        return
    yield from (one for one in (address.ipv4_mapped, address.sixtofour, *(address.teredo or ())) if one is not None)
    if address in _NAT64:
        yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def is_local_name(host: str) -> bool:
    """Whether a name is by convention one of a private network: no dot, or a private ending."""
    return "." not in host or any(host == name or host.endswith("." + name) for name in LOCAL_NAMES)


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
