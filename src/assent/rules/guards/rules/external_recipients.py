"""Guard `external_recipients`: messages stay within your own domains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.rules.guards.addresses import Domain, in_domains
from assent.rules.guards.context import NO_CONTEXT, Context
from assent.rules.guards.mailboxes import RECIPIENT_FIELDS, read_mailboxes
from assent.rules.guards.rule import Denial, Examples, GuardRule


class ExternalRecipients(GuardRule):
    """At most `most` recipients may be outside your own domains; by default none.

    A recipient that is not a readable mail address, such as a group's name, counts as external. Without `fields`, the
    usual recipient fields are checked (to, cc, bcc, ...).
    """

    usual_fields: ClassVar[tuple[str, ...]] = RECIPIENT_FIELDS
    per_character: ClassVar[float] = 1.0
    most_characters: ClassVar[int] = 200_000
    examples: ClassVar[Examples] = Examples(
        {"internal": ["example.com"]},
        passes=({"to": "ann@example.com, bob@hr.example.com"}, {"to": [], "cc": None}, {"body": "ask eve@evil.org"}),
        objects=({"to": "ann@example.com; eve@evil.org"}, {"bcc": ["ann@example.com.evil.org"]}, {"to": "partners"}),
    )

    internal: Annotated[tuple[Domain, ...], Field(min_length=1, description="Your own domains.")]
    most: Annotated[int, Field(ge=0, description="How many external recipients are allowed.")] = 0

    def denies(self, arguments: Mapping[str, Any], context: Context = NO_CONTEXT) -> Denial | None:
        found = 0
        for path, value in self.checked_values(arguments):
            found += self._external(value)
            if found > self.most:
                return path, "it is outside the internal domains"
        return None

    def _external(self, value: Any) -> int:
        if isinstance(value, list):
            return sum(map(self._external, value))
        if isinstance(value, dict):
            return sum(
                self._external(item) + (self._external(name) if "@" in name or item is True else 0)
                for name, item in value.items()
            )
        if value is None or isinstance(value, bool):
            return 0
        if not isinstance(value, str):
            return 1
        return sum(box is None or not in_domains(box.domain, self.internal) for box in read_mailboxes(value))
