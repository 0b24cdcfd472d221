"""Guard `allow_domains`: every mail address and link is in one of the allowed domains."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.guards.addresses import Domain, hosts_in, in_domains
from assent.guards.context import Context
from assent.guards.rule import Examples, ValueRule


class AllowDomains(ValueRule):
    """Every mail address and every link must be in an allowed domain or below it.

    A text is read as browsers, HTTP clients and mail programs read it. If two of them would find different hosts,
    each host must be allowed; a host in an unusual spelling is not allowed. With `fields`, each of their texts must
    be an address or a link: any other text is not allowed. Without `fields`, all texts are searched, and a name
    without a scheme, `www.` or `@` does not count as a link.
    """

    texts_alone: ClassVar[bool] = True
    examples: ClassVar[Examples] = Examples(
        {"domains": ["example.com"], "fields": ["to"]},
        passes=({"to": "ann@example.com"}, {"to": ["Ann <ann@mail.EXAMPLE.com>"]}, {"cc": "eve@evil.org"}),
        objects=({"to": "eve@evil.org"}, {"to": "ann@example.com.evil.org"}, {"to": "somebody"}),
    )

    domains: Annotated[tuple[Domain, ...], Field(min_length=1, description="The allowed domains.")]

    def objection(self, value: Any, context: Context) -> str | None:
        if not isinstance(value, str):
            return None if not self.fields or value is None else "it is not an address"
        found = hosts_in(value)
        if not found:
            return "it is not an address" if self.fields else None
        return None if all(in_domains(host, self.domains) for host in found) else "it leads outside the allowed domains"
