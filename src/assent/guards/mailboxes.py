"""Finds mail addresses in texts, and the fields that usually hold recipients."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from assent.guards.text import CONTROL, visible_part

RECIPIENT_FIELDS = (
    *("to", "cc", "bcc", "recipient", "recipients", "to_recipients", "cc_recipients", "bcc_recipients"),
    *("toRecipients", "ccRecipients", "bccRecipients", "to_addresses", "toAddresses", "attendees", "invitees"),
    *("email", "emails", "email_address", "emailAddress", "share_with", "shareWith"),
)
UNCLEAR = ""
_COMMENT = re.compile(r"\([^()]{0,200}\)")
_MAILBOX = re.compile(
    r"(\"(?:[^\"\\]|\\.){0,256}\"|[^\s<>@,;:\"()\[\]]{1,256})\s{0,10}@\s{0,10}([\w.-]{1,255}|\[[^\]]{0,64}\])"
)
_DOTTED = frozenset({"gmail.com", "googlemail.com"})


class Mailbox(NamedTuple):
    """A mail address: the part before the @ and the domain, in lower case."""

    local: str
    domain: str

    @property
    def text(self) -> str:
        return f"{self.local}@{self.domain}"

    def spellings(self) -> set[str]:
        """The addresses that reach the same mailbox at most providers: without `+tag`, for Gmail without dots."""
        base = self.local.partition("+")[0] or self.local
        plain = base.replace(".", "") if self.domain in _DOTTED else base
        domain = "gmail.com" if self.domain in _DOTTED else self.domain
        return {self.text, f"{base}@{self.domain}", f"{plain}@{domain}"}


def plain_text(text: str) -> str:
    """The text without invisible and control characters and compatibility forms, in lower case."""
    shown = CONTROL.sub(" ", text)
    if not shown.isascii():
        shown = unicodedata.normalize("NFKC", visible_part(shown))
    return shown.lower()


def mailboxes_in(text: str) -> Iterator[Mailbox | None]:
    """Every mail address in a text; None for an @ that belongs to no address that can be read."""
    plain = plain_text(text)
    for _ in range(3):
        plain = _COMMENT.sub("", plain)
    rest = plain
    for match in _MAILBOX.finditer(plain):
        local = match[1].strip('"').replace("\\", "").removeprefix("mailto:")
        yield Mailbox(local, match[2].strip("[].") if not match[2].startswith("[") else match[2])
        rest = rest.replace(match[0], " ", 1)
    if "@" in rest:
        yield None


def as_mailbox(text: str) -> str:
    """A configured address, or pattern such as `*@example.com`, in the form in which addresses are compared."""
    plain = plain_text(text).strip()
    if plain.count("@") != 1 or plain.startswith("@") or plain.endswith("@") or " " in plain:
        raise ValueError("this is not a mail address; write ann@example.com, or *@example.com for all of a domain")
    return plain.rstrip(".")


def recipients_in(text: str) -> list[str]:
    """The recipients that a text lists, parted by commas, semicolons or line ends; commas in quotes do not part."""
    pieces = re.split(r"[,;\r\n]+(?=(?:[^\"]*\"[^\"]*\")*[^\"]*\Z)", text) if len(text) < 20_000 else text.split(",")
    found = [piece.strip() for piece in pieces if piece.strip()]
    return found if len(found) >= text.count("@") else found + ["@"] * (text.count("@") - len(found))
