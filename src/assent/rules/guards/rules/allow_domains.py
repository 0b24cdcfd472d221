"""Guard `allow_domains`: every mail address and link is in one of the allowed domains."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.rules.guards.addresses import UNCLEAR, Domain, hosts_in, in_domains
from assent.rules.guards.context import Context
from assent.rules.guards.hosts import whole_hosts
from assent.rules.guards.mailboxes import read_mail_link, read_mailboxes
from assent.rules.guards.rule import Examples, ValueRule


class AllowDomains(ValueRule):
    """Every mail address and every link must be in an allowed domain or below it.

    A text is read as browsers, HTTP clients and mail programs read it. If two of them would find different hosts,
    each host must be allowed; a host in an unusual spelling is not allowed. With `fields`, each of their texts must
    be one link or a list of addresses, and nothing else. Without `fields`, all texts are searched, and a name without
    a scheme, `www.` or `@` does not count as a link.
    """

    texts_alone: ClassVar[bool] = True
    per_character: ClassVar[float] = 1.0
    examples: ClassVar[Examples] = Examples(
        {"domains": ["example.com"], "fields": ["to"]},
        passes=({"to": "ann@example.com"}, {"to": ["Ann <ann@mail.EXAMPLE.com>"]}, {"cc": "eve@evil.org"}),
        objects=({"to": "eve@evil.org"}, {"to": "ann@example.com.evil.org"}, {"to": "somebody"}),
    )

    domains: Annotated[tuple[Domain, ...], Field(min_length=1, description="The allowed domains.")]

    def objection(self, value: Any, context: Context) -> str | None:
        if not isinstance(value, str):
            return None if not self.fields or value is None else "it is not an address"
        found = self._whole(value) if self.fields else hosts_in(value)
        if found is None:
            return "it is not an address"
        return None if all(in_domains(host, self.domains) for host in found) else "it leads outside the allowed domains"

    def _whole(self, text: str) -> list[str] | None:
        """The hosts of a text that is one link, one mail link or a list of mail addresses."""
        if (found := whole_hosts(text)) is not None:
            return found
        boxes = read_mail_link(text)
        others = hosts_in(text) if boxes is not None else []
        boxes = read_mailboxes(text) if boxes is None else boxes
        return [*others, *(box.domain if box is not None else UNCLEAR for box in boxes)] or None
