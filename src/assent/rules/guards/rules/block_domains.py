"""Guard `block_domains`: no mail address or link is in a blocked domain."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.rules.guards.addresses import UNCLEAR, Domain, hosts_in, in_domains
from assent.rules.guards.context import Context
from assent.rules.guards.hosts import first_host, host_forms
from assent.rules.guards.rule import Examples, ValueRule


class BlockDomains(ValueRule):
    """No mail address and no link may be in a blocked domain or below it.

    A host is compared as written, in its ASCII form, and with letters that look alike. A host that programs read
    differently is not allowed. With `fields`, every word that begins with a host name counts as well.
    """

    texts_alone: ClassVar[bool] = True
    per_character: ClassVar[float] = 1.0
    examples: ClassVar[Examples] = Examples(
        {"domains": ["evil.org"]},
        passes=({"text": "Write to ann@example.com"}, {"text": "notevil.org is a name"}),
        objects=({"text": "https://sub.EVIL.org./x"}, {"to": "eve@еvil.org"}, {"text": "https://evil%2eorg/"}),
    )

    domains: Annotated[tuple[Domain, ...], Field(min_length=1, description="The blocked domains.")]

    def objection(self, value: Any, context: Context) -> str | None:
        if not isinstance(value, str):
            return None
        words = value.split() if self.fields else []
        found = [*hosts_in(value), *(first_host(word) for word in words if "." in word or "\u3002" in word)]
        if any(host == UNCLEAR for host in found):
            return "it has a host that programs read differently"
        blocked = any(in_domains(form, self.domains) for host in found for form in host_forms(host))
        return "it leads to a blocked domain" if blocked else None
