"""Guard `block_private_hosts`: links do not lead into a private network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.rules.guards.addresses import UNCLEAR, Domain, in_domains
from assent.rules.guards.context import NO_CONTEXT, Context, LookupNeeds
from assent.rules.guards.hosts import as_address, first_host, hosts_of, is_local_name, is_public, opened_host
from assent.rules.guards.rule import Examples, ValueRule


class BlockPrivateHosts(ValueRule):
    """No link may lead to an address that is not on the public Internet (server-side request forgery).

    Names are looked up when the call is checked, and every address must be public: not private, loopback, link-local
    (cloud metadata), multicast or reserved, also inside IPv6. Addresses in decimal, octal and hexadecimal notation are
    read. A name that cannot be looked up is not allowed. The tool's server looks the name up again later and may get
    another answer: where you can, also close the network itself. With `fields`, each text must be a link or a host;
    without, a text that is only an address or local name with a port or path counts as well as links.
    """

    texts_alone: ClassVar[bool] = True
    looks_up: ClassVar[bool] = True
    on_results: ClassVar[bool] = False
    per_character: ClassVar[float] = 1.0
    examples: ClassVar[Examples] = Examples(
        {"fields": ["url"], "allow": ["intranet.example.com"]},
        passes=(
            {"url": "https://93.184.215.14/"},
            {"url": "http://intranet.example.com/"},
            {"text": "http://10.0.0.1"},
        ),
        objects=(
            {"url": "http://127.0.0.1:8080/"},
            {"url": "http://2130706433/"},
            {"url": "http://[::ffff:169.254.169.254]/latest"},
            {"url": "http://localhost./"},
            {"url": "http://metadata.google.internal/"},
        ),
    )

    allow: Annotated[tuple[Domain, ...], Field(description="Names that are allowed although they are private.")] = ()

    def needs(self, arguments: Mapping[str, Any]) -> LookupNeeds:
        names = {host for value in self._texts(arguments) for host in self._hosts(value)}
        return LookupNeeds(hosts=frozenset(host for host in names if self._is_looked_up(host)))

    def _texts(self, arguments: Mapping[str, Any]) -> Iterator[str]:
        return (value for _, value in self.scalars(arguments) if isinstance(value, str))

    def _hosts(self, text: str) -> list[str]:
        bare = first_host(text) if self.fields and text.strip() else opened_host(text)
        return [*hosts_of(text), *([bare] if bare is not None else [])]

    def _is_looked_up(self, host: str) -> bool:
        return host != UNCLEAR and as_address(host) is None and not self._is_decided(host)

    def _is_decided(self, host: str) -> bool:
        return in_domains(host, self.allow) or is_local_name(host)

    def objection(self, value: Any, context: Context) -> str | None:
        for host in self._hosts(value) if isinstance(value, str) else ():
            if host == UNCLEAR:
                return "it has a host that programs read differently"
            if in_domains(host, self.allow):
                continue
            if (reason := self._judge(host, context)) is not None:
                return reason
        return None

    def _judge(self, host: str, context: Context = NO_CONTEXT) -> str | None:
        address = as_address(host)
        if address is not None:
            return None if is_public(address) else "it leads to an address that is not public"
        if is_local_name(host):
            return "it leads to a name of a private network"
        found = [as_address(one) for one in context.addresses.get(host, ())]
        if not found:
            return "its host could not be looked up"
        public = all(one is not None and is_public(one) for one in found)
        return None if public else "its host has an address that is not public"
