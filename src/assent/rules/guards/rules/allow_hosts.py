"""Guard `allow_hosts`: links lead to allowed hosts only."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from assent.rules.guards.addresses import UNCLEAR, as_configured
from assent.rules.guards.context import Context
from assent.rules.guards.hosts import DEFAULT_PORTS, read_link
from assent.rules.guards.rule import Examples, ValueRule


class AllowHosts(ValueRule):
    """Every text of the fields must be a link to one of the allowed hosts.

    `*.example.com` allows what is below example.com, not example.com itself. The scheme must be allowed, and the port
    must be the scheme's usual one or a named one. A user name, a backslash, an encoded or non-ASCII host and anything
    that HTTP clients read differently is not allowed.
    """

    needs_fields: ClassVar[bool] = True
    per_character: ClassVar[float] = 1.0
    examples: ClassVar[Examples] = Examples(
        {"fields": ["url"], "hosts": ["api.example.com", "*.cdn.example.com"]},
        passes=({"url": "https://api.example.com/v1?x=1"}, {"url": "HTTPS://img.cdn.example.com"}),
        objects=(
            {"url": "https://example.com"},
            {"url": "https://api.example.com@evil.org"},
            {"url": "http://api.example.com"},
            {"url": "https://api.example.com:8443/"},
            {"url": "//api.example.com"},
        ),
    )

    hosts: Annotated[
        tuple[Annotated[str, Field(min_length=1), AfterValidator(as_configured)], ...],
        Field(min_length=1, description="The allowed hosts, or patterns such as `*.example.com`."),
    ]
    schemes: Annotated[tuple[str, ...], Field(min_length=1, description="The allowed schemes.")] = ("https",)
    ports: tuple[int, ...] = Field((), description="Allowed ports besides the usual one.")

    def objection(self, value: Any, context: Context) -> str | None:
        if value is None:
            return None
        link = read_link(value) if isinstance(value, str) else None
        if link is None:
            return "it is not a link"
        if link.scheme not in self.schemes:
            return "its scheme is not allowed"
        if link.host == UNCLEAR or not any(fnmatchcase(link.host, host) for host in self.hosts):
            return "it leads to a host that is not allowed"
        usual = DEFAULT_PORTS.get(link.scheme)
        return None if link.port in (usual, *self.ports) else "its port is not allowed"
