"""Guard `ip_ranges`: IP addresses are within allowed ranges."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from ipaddress import IPv6Address, IPv6Network
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, model_validator

from assent.rules.guards.context import Context
from assent.rules.guards.hosts import Network, as_address, read_network
from assent.rules.guards.rule import Examples, ValueRule

_PLAIN = re.compile(r"[0-9a-fA-FxX.:]+(?:/[0-9]{1,3})?")


def _network(text: str) -> str:
    return str(read_network(text))


Range = Annotated[str, AfterValidator(_network)]


class IpRanges(ValueRule):
    """Every IP address or range in the fields must be inside `allow` and outside `block`.

    An address may be in any notation that programs read: decimal, octal, hexadecimal, inside IPv6. A range must be
    inside an allowed one as a whole. A text that is no address is not allowed.
    """

    needs_fields: ClassVar[bool] = True
    examples: ClassVar[Examples] = Examples(
        {"fields": ["source"], "allow": ["10.0.0.0/8"], "block": ["10.9.0.0/16"]},
        passes=({"source": "10.1.2.3"}, {"source": ["10.1.0.0/16"]}, {"source": None}),
        objects=({"source": "192.0.2.1"}, {"source": "0.0.0.0/0"}, {"source": "10.9.1.1"}, {"source": "10.0.0.0/8"}),
    )

    allow: Annotated[tuple[Range, ...], Field(description="The allowed ranges; without it, all.")] = ()
    block: Annotated[tuple[Range, ...], Field(description="The blocked ranges.")] = ()

    @model_validator(mode="after")
    def _some_range(self) -> IpRanges:
        if not self.allow and not self.block:
            raise ValueError("it has no range; set allow, block or both")
        return self

    @cached_property
    def _allowed(self) -> tuple[Network, ...]:
        return tuple(map(read_network, self.allow))

    @cached_property
    def _blocked(self) -> tuple[Network, ...]:
        return tuple(map(read_network, self.block))

    @cached_property
    def _blocked_in_all_forms(self) -> tuple[Network, ...]:
        """The blocked ranges, those of IPv4 also as parts of IPv6: mapped, compatible, translated, 6to4."""
        return (*self._blocked, *(form for one in self._blocked if one.version == 4 for form in _in_ipv6(one)))

    def objection(self, value: Any, context: Context) -> str | None:
        if value is None:
            return None
        network = _parse_network(value)
        if network is None:
            return "it is not an IP address or range"
        if any(one.version == network.version and one.overlaps(network) for one in self._blocked_in_all_forms):
            return "it is in a blocked range"
        inside = any(one.version == network.version and network.subnet_of(one) for one in self._allowed)  # type: ignore[arg-type]
        return None if inside or not self._allowed else "it is outside the allowed ranges"


def _in_ipv6(network: Network) -> Iterator[Network]:
    low, bits = int(network.network_address), network.prefixlen
    for prefix in ("::ffff:0:0", "::", "::ffff:0:0:0", "64:ff9b::", "64:ff9b:1::"):
        yield IPv6Network((int(IPv6Address(prefix)) + low, 96 + bits))
    yield IPv6Network(((0x2002 << 112) + (low << 80), 16 + bits))


def _parse_network(value: Any) -> Network | None:
    text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not _PLAIN.fullmatch(text):
        return None
    host, slash, bits = text.partition("/")
    address = as_address(host) if host and ":" not in host else as_address(f"[{host}]") if host else None
    if address is None:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    try:
        return read_network(f"{mapped or address}{slash}{bits}")
    except ValueError:
        return None
