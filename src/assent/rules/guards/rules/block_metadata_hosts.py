"""Guard `block_metadata_hosts`: arguments do not name a cloud's metadata service."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any, ClassVar

from assent.core.tool import Tool
from assent.rules.guards.addresses import UNCLEAR
from assent.rules.guards.context import Context
from assent.rules.guards.hosts import LONGEST_HOST, Address, as_address, embedded, first_host, hosts_of, is_public
from assent.rules.guards.rule import Examples, ValueRule
from assent.rules.guards.text import skeleton
from assent.rules.guards.values import Fields

_NETWORKS = tuple(
    map(
        ipaddress.ip_network,
        # Link-local; Alibaba, Oracle, Azure; AWS over IPv6.
        ("169.254.0.0/16", "fe80::/10", "100.100.100.200/32", "192.0.0.192/32", "168.63.129.16/32", "fd00:ec2::/32"),
    )
)
_NAMES = frozenset(
    {"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"}
)
_TRACES = ("169.254", "metadata", "instance-data", "100.100.100.200", "fe80:", "fd00:ec2")
"""What a text has if one reading of its host may be such an address."""
_MOST_NODES = 10_000
_ENDINGS = tuple("url uri host hostname address endpoint server link href domain site website webhook proxy ip".split())  # noqa: SIM905
_ENDINGS += tuple(f"{one}s" for one in _ENDINGS)


class _HostNames:
    """The names of arguments that name hosts: `url`, `base_url`, `callbackUrl`, `hosts`, …"""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.endswith(_ENDINGS)


class BlockMetadataHosts(ValueRule):
    """No argument that names a host may name a link-local address or the metadata service of a cloud.

    It answers programs on the machine with the machine's own credentials (169.254.169.254, `metadata.google.internal`
    and the like). Addresses in decimal, octal and hexadecimal notation and inside IPv6 are read. Names are not looked
    up: `block_private_hosts` does that. Loopback and private addresses are allowed. Without `fields`, arguments count
    whose name ends in `url`, `uri`, `host`, `address`, `endpoint`, `server`, `link` and the like.

    It is on by default for tools without a contract of yours; `defaults: {metadata_addresses: allow}` switches it off.
    """

    on_results: ClassVar[bool] = False
    usual_fields: ClassVar[tuple[str, ...]] = ("*url", "*uri", "*host", "*address", "*endpoint", "*server", "*link")
    examples: ClassVar[Examples] = Examples(
        {},
        passes=(
            {"url": "http://localhost:3000/"},
            {"url": "http://10.0.0.7/status"},
            {"text": "what does http://169.254.169.254/ answer?"},
        ),
        objects=(
            {"url": "http://169.254.169.254/latest/meta-data/"},
            {"uri": "http://2852039166/"},
            {"host": "metadata.google.internal"},
            {"urls": ["https://example.com", "http://[::ffff:a9fe:a9fe]/"]},
        ),
    )

    @cached_property
    def selected(self) -> Fields:
        return Fields(self.fields) if self.fields else Fields((), _HostNames())

    def concerns(self, tool: Tool) -> bool:
        """A tool that has none of the fields is not concerned."""
        return super().concerns(tool) and _may_have(tool.definition.get("inputSchema"), self)

    def objection(self, value: Any, context: Context) -> str | None:
        if not isinstance(value, str) or not value.strip():
            return None
        hosts = {value.strip()[:LONGEST_HOST], first_host(value), *hosts_of(value)}  # A bare IPv6 address is whole.
        if any(_is_metadata(host) for host in hosts):
            return "it leads to a link-local address or to the metadata service of a cloud"
        if UNCLEAR in hosts and any(one in skeleton(value) for one in _TRACES):
            return "programs read its host differently, and it may be the metadata service of a cloud"
        return None


@lru_cache(1024)
def _is_metadata(host: str) -> bool:
    address = as_address(host)
    if address is None:
        return host.lower().rstrip(".") in _NAMES
    inside: Address | None = _inside(address) if isinstance(address, ipaddress.IPv6Address) else None
    return any(one in network for one in (address, inside) if one is not None for network in _NETWORKS)


def _inside(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address in an IPv6 one; outside the public range also at its end: `::169.254.169.254`."""
    return embedded(address) or (None if is_public(address) else ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))


def _may_have(schema: Any, rule: BlockMetadataHosts) -> bool:
    """Whether arguments by this schema can have one of the rule's fields: it names one, or leaves an object open."""
    if any(name.startswith("/") for name in rule.fields):
        return True
    for count, node in enumerate(_nodes(schema)):
        named = node.get("properties")
        if isinstance(named, Mapping) and any(rule.selected.names(str(name)) for name in named):
            return True
        if (node.get("type") == "object" and named is None) or count > _MOST_NODES:
            return True
    return False


def _nodes(schema: Any) -> Iterator[Mapping[str, Any]]:
    left = [schema]
    while left:
        node = left.pop()
        if isinstance(node, Mapping):
            yield node
            left += node.values()
        elif isinstance(node, list):
            left += node
