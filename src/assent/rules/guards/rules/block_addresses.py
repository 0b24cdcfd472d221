"""Guard `block_addresses`: blocked mail addresses are not used."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from assent.rules.guards.context import Context
from assent.rules.guards.mailboxes import Mailbox, as_mailbox, mailboxes_in
from assent.rules.guards.rule import Examples, ValueRule
from assent.rules.guards.text import skeleton

_AT = re.compile("[@\uff20\ufe6b]|%(?:25)*40|&(?:#0*64|#x0*40|commat)", re.IGNORECASE)


class BlockAddresses(ValueRule):
    """No text may contain a blocked mail address.

    Spellings that reach the same mailbox count: another case, `+tag`, quotes, comments, and dots at Gmail. Letters that
    look alike count too.
    """

    texts_alone: ClassVar[bool] = True
    per_character: ClassVar[float] = 2.0
    examples: ClassVar[Examples] = Examples(
        {"addresses": ["all@example.com", "*@list.example.com"]},
        passes=({"to": "ann@example.com"}, {"to": "all@example.org"}, {"text": "for all @ example"}),
        objects=({"to": "ALL+now@example.com"}, {"to": '"all"@example.com'}, {"text": "cc dev@list.example.com"}),
    )

    addresses: Annotated[
        tuple[Annotated[str, AfterValidator(as_mailbox)], ...],
        Field(min_length=1, description="The blocked addresses; `*@example.com` blocks a domain."),
    ]

    @cached_property
    def _blocked(self) -> frozenset[str]:
        """The addresses in every spelling of the same mailbox."""
        boxes = (Mailbox(*address.split("@", 1)) for address in self.addresses)
        return frozenset(spelling for box in boxes for spelling in box.spellings())

    def objection(self, value: Any, context: Context) -> str | None:
        if not isinstance(value, str) or _AT.search(value) is None:
            return None
        for one in mailboxes_in(value):
            spellings = one.spellings()
            for spelling in {*spellings, *map(skeleton, spellings)}:
                if any(fnmatchcase(spelling, blocked) for blocked in self._blocked):
                    return "it contains a blocked address"
        return None
