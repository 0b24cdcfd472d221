"""Guard `allow_addresses`: only allowed mail addresses are used."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from assent.guards.context import Context
from assent.guards.mailboxes import RECIPIENT_FIELDS, as_mailbox, mailboxes_in
from assent.guards.rule import Examples, ValueRule


class AllowAddresses(ValueRule):
    """Every recipient must be one of the allowed mail addresses.

    Every address in a text counts, also one in a display name. A text without an address, or with an @ that belongs
    to no readable address, is not allowed. Without `fields`, the usual recipient fields are checked (to, cc, bcc, ...).
    """

    usual_fields: ClassVar[tuple[str, ...]] = RECIPIENT_FIELDS
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
        found = list(mailboxes_in(value)) if isinstance(value, str) else []
        if not found:
            return "it is not a mail address"
        for one in found:
            if one is None or not any(fnmatchcase(one.text, allowed) for allowed in self.addresses):
                return "it is not one of the allowed addresses"
        return None
