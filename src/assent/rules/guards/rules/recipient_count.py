"""Guard `recipient_count`: a message does not go to too many recipients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.rules.guards.context import NO_CONTEXT, Context
from assent.rules.guards.mailboxes import RECIPIENT_FIELDS, read_mailboxes
from assent.rules.guards.rule import Denial, Examples, GuardRule


class RecipientCount(GuardRule):
    """All recipient fields together may name at most `most` recipients.

    Lists count by item, texts by the addresses they list. Without `fields`, the usual recipient fields are counted
    (to, cc, bcc, ...). An address that is named twice counts twice, because the server may send it twice.
    """

    usual_fields: ClassVar[tuple[str, ...]] = RECIPIENT_FIELDS
    per_character: ClassVar[float] = 1.0
    most_characters: ClassVar[int] = 200_000
    examples: ClassVar[Examples] = Examples(
        {"most": 3},
        passes=({"to": "a@x.org, b@x.org", "cc": ["c@x.org"]}, {"to": '"Doe, Ann" <ann@x.org>'}, {"body": "a@b, c@d"}),
        objects=({"to": ["a@x.org", "b@x.org"], "bcc": "c@x.org;d@x.org"}, {"to": "a@x.org b@x.org c@x.org d@x.org"}),
    )

    most: Annotated[int, Field(ge=0, description="The largest number of recipients.")]

    def denies(self, arguments: Mapping[str, Any], context: Context = NO_CONTEXT) -> Denial | None:
        total = 0
        for path, value in self.checked_values(arguments):
            total += count_recipients(value)
            if total > self.most:
                return path, f"there are more than {self.most} recipients"
        return None


def count_recipients(value: Any) -> int:
    """How many recipients a value names; an object is one recipient unless it holds several addresses or a list."""
    if isinstance(value, str):
        return len(read_mailboxes(value))
    if isinstance(value, list):
        return sum(map(count_recipients, value))
    if isinstance(value, dict):
        lists = (count_recipients(item) for item in value.values() if isinstance(item, list | dict))
        addressed = [one for one in (*value, *value.values()) if isinstance(one, str) and "@" in one]
        return max([1, *lists, sum(map(count_recipients, addressed))])
    return 0 if value is None else 1
