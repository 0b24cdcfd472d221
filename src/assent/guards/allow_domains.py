"""Do all addresses and links stay within these domains?"""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from assent.guards.rule import Rule

# Whatever follows an at sign must begin with an allowed domain; what begins otherwise is the domain "", and none is.
_ADDRESS = re.compile(r"@\s*([\w.-]*)")
# Browsers take any number of slashes after the schemes they know, and none; others need two.
_LINK = re.compile(r"(?:(?:https?|wss?|ftp):[/\\]*|[a-z][a-z0-9+.-]*:[/\\]{2})([^/?#\\\s]*)", re.IGNORECASE)


def _plain(domain: str) -> str:
    return unicodedata.normalize("NFKC", domain).strip().rstrip(".").lower()


Domain = Annotated[str, Field(min_length=1, pattern=r"^[^\s@/:]+$"), AfterValidator(_plain)]


class AllowDomains(Rule):
    """Every mail address and every link must lie in one of `domains` or below it.

    With `fields`, each of their texts must *be* an address or a link: what cannot be read as one is not allowed.
    """

    name: ClassVar[str] = "allow_domains"
    texts_alone: ClassVar[bool] = True
    domains: Annotated[tuple[Domain, ...], Field(min_length=1)]

    def objection(self, value: Any) -> str | None:
        if not isinstance(value, str):
            return None if not self.fields or value is None else "it is not an address"
        found = domains_in(value)
        if not found:
            return "it is not an address" if self.fields else None
        outside = next((domain for domain in found if not self._allowed(domain)), None)
        return None if outside is None else "it leads outside the allowed domains"

    def _allowed(self, domain: str) -> bool:
        return any(domain == allowed or domain.endswith("." + allowed) for allowed in self.domains)


def domains_in(text: str) -> list[str]:
    """The domain of every mail address and link in a text; a link's user part does not count as its host."""
    normal = text if text.isascii() else unicodedata.normalize("NFKC", text)
    if "@" not in normal and ":" not in normal:
        return []
    hosts = [match[1].rpartition("@")[2].partition(":")[0] for match in _LINK.finditer(normal)]
    without_links = _LINK.sub(" ", normal)
    return [_plain(domain) for domain in (*hosts, *(match[1] for match in _ADDRESS.finditer(without_links)))]
