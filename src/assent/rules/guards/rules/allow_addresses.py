"""Guard `allow_addresses`: only allowed mail addresses are used."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from assent.rules.guards.context import Context
from assent.rules.guards.mailboxes import RECIPIENT_FIELDS, as_mailbox, read_mail_link, read_mailboxes
from assent.rules.guards.rule import Examples, ValueRule


class AllowAddresses(ValueRule):
    """Every recipient must be one of the allowed mail addresses.

    A text is read as a list of recipients, each an address or a name with an address (`Ann <ann@example.com>`). What
    is anything else is not allowed. Without `fields`, the usual recipient fields are checked (to, cc, bcc, ...).
    """

    usual_fields: ClassVar[tuple[str, ...]] = RECIPIENT_FIELDS
    per_character: ClassVar[float] = 1.0
    most_characters: ClassVar[int] = 200_000
    examples: ClassVar[Examples] = Examples(
        {"addresses": ["ann@example.com", "*@team.example.com"]},
        passes=(
            {"to": "Ann <ANN@example.com>"},
            {"to": ["bob@team.example.com", "ann@example.com"]},
            {"body": "x@y.z"},
        ),
        objects=({"to": "eve@example.com"}, {"cc": "ann@example.com, eve@evil.org"}, {"bcc": "everybody"}),
    )

    addresses: Annotated[
        tuple[Annotated[str, AfterValidator(as_mailbox)], ...],
        Field(min_length=1, description="The allowed addresses; `*@example.com` allows a domain."),
    ]

    def objection(self, value: Any, context: Context) -> str | None:
        if value is None or value == "":
            return None
        found = (read_mail_link(value) or read_mailboxes(value)) if isinstance(value, str) else []
        if not found:
            return "it is not a mail address"
        for one in found:
            if one is None or not any(fnmatchcase(one.text, allowed) for allowed in self.addresses):
                return "it is not one of the allowed addresses"
        return None
