"""Guard `allow_domains`: every mail address and link is in one of the allowed domains."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from assent.guards.addresses import as_configured, hosts_in
from assent.guards.rule import GuardRule

Domain = Annotated[str, Field(min_length=1, pattern=r"^[^\s@/:]+$"), AfterValidator(as_configured)]


class AllowDomains(GuardRule):
    """Every mail address and every link must be in one of `domains` or below it.

    A text is read as browsers, HTTP clients and mail programs read it. If two of them would find different hosts,
    each host must be allowed; a host in an unusual spelling is not allowed. With `fields`, each of their texts must
    *be* an address or a link: any other text is not allowed.
    """

    name: ClassVar[str] = "allow_domains"
    texts_alone: ClassVar[bool] = True
    domains: Annotated[tuple[Domain, ...], Field(min_length=1)]

    def objection(self, value: Any) -> str | None:
        if not isinstance(value, str):
            return None if not self.fields or value is None else "it is not an address"
        found = hosts_in(value)
        if not found:
            return "it is not an address" if self.fields else None
        return None if all(map(self._allowed, found)) else "it leads outside the allowed domains"

    def _allowed(self, host: str) -> bool:
        return any(host == allowed or host.endswith("." + allowed) for allowed in self.domains)
