"""Finds mail addresses in texts, and the fields that usually hold recipients."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from assent.rules.guards.addresses import DOTS, decoded
from assent.rules.guards.text import CONTROL, visible_part

RECIPIENT_FIELDS = (
    *("to", "cc", "bcc", "recipient", "recipients", "to_recipients", "cc_recipients", "bcc_recipients"),
    *("toRecipients", "ccRecipients", "bccRecipients", "to_addresses", "toAddresses", "attendees", "invitees"),
    *("email", "emails", "email_address", "emailAddress", "email_addresses", "emailAddresses", "guests"),
    *("to_email", "toEmail", "to_emails", "toEmails", "recipient_email", "recipientEmail", "recipient_emails"),
    *("cc_emails", "ccEmails", "bcc_emails", "bccEmails", "email_to", "emailTo", "send_to", "sendTo", "mail_to"),
    *("forward_to", "forwardTo", "participants", "share_with", "shareWith"),
)
_COMMENT = re.compile(r"\([^()]{0,200}\)")
_ITEM = re.compile(r'(?:"(?:[^"\\\r\n]|\\.)*"|[^,;\r\n"]|")+')
# No character that lets a program read another address or a link: `%` and `!` route mail on, `/` and `:` end a host.
_ADDRESS = re.compile(r'([^\s<>@,;:"()\[\]\\/?#%!|]+|"[^"\\@\s]+")@([\w-]+(?:\.[\w-]+)*)\.?')
_NAMED = re.compile(r'(?:"[^"@<>]*"|[^"@<>:]*)\s*<([^<>]*)>')
_LONGEST_LOCAL = 80
_LOCAL = re.compile(r'"(?:[^"\\]|\\.)*"\Z|[^\s<>@,;:"()\[\]]+\Z')
_DOMAIN = re.compile(r"\s{0,10}([\w.-]{1,255}|\[[^\]]{0,64}\])")
_AROUND_SIGN = re.compile(r"\s{0,20}([.@])\s{0,20}(?=\w)")
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
        shown = unicodedata.normalize("NFKC", visible_part(shown)).translate(DOTS)
    return shown.lower()


def read_mailboxes(text: str) -> list[Mailbox | None]:
    """The recipients that a text lists, parted by commas, semicolons or line ends; None for one that cannot be read.

    A recipient is an address, or a name and an address in angle brackets. An item with several @ counts as so many.
    """
    found: list[Mailbox | None] = []
    for item in _ITEM.findall(text):
        if plain := plain_text(item).strip():
            box = None if _hides_something(item) else _read_mailbox(plain)
            found += [box] if box is not None else [None] * max(1, plain.count("@"))
    return found


def _hides_something(item: str) -> bool:
    """Whether the address of an item has characters that draw nothing. Some programs drop them, for others they are
    part of another domain.
    """
    if item.isascii():
        return False
    at = item.rfind("@") if "@" in item else 0
    around = item[max(0, item.rfind("<", 0, at), item.rfind(" ", 0, at)) :]
    return visible_part(around) != around


def read_mail_link(text: str) -> list[Mailbox | None] | None:
    """The recipients of a whole text that is a `mailto:` link, of its copies too; None if it is none."""
    plain = decoded(text.strip())
    if not plain.lower().startswith("mailto:"):
        return None
    listed, _, query = plain[7:].partition("?")
    members = (member.partition("=") for member in query.split("&"))
    lists = [listed, *(value for name, _, value in members if name.lower() in ("to", "cc", "bcc"))]
    return [box for one in lists for box in read_mailboxes(one)]


def _read_mailbox(item: str) -> Mailbox | None:
    named = _NAMED.fullmatch(item)
    address = _ADDRESS.fullmatch(named[1].strip() if named is not None else item)
    return None if address is None else Mailbox(address[1].strip('"'), address[2])


def mailboxes_in(text: str) -> Iterator[Mailbox]:
    """Every mail address in a text of any kind; spaces, comments and quotes are skipped as programs skip them."""
    plain = html.unescape(plain_text(text)) if "&" in text else plain_text(text)
    plain = decoded(plain) if "%" in plain else plain
    for _ in range(3):
        plain = _COMMENT.sub("", plain)
    plain = _AROUND_SIGN.sub(r"\1", plain)
    at = plain.find("@")
    while at >= 0:
        local = _LOCAL.search(plain[max(0, at - _LONGEST_LOCAL) : at].rstrip())
        domain = _DOMAIN.match(plain[at + 1 : at + 300])
        if local is not None and domain is not None:
            name = local[0].strip('"').replace("\\", "").removeprefix("mailto:")
            yield Mailbox(name, domain[1].strip("."))
        at = plain.find("@", at + 1)


def as_mailbox(text: str) -> str:
    """A configured address, or pattern such as `*@example.com`, in the form in which addresses are compared."""
    plain = plain_text(text).strip()
    if plain.count("@") != 1 or plain.startswith("@") or plain.endswith("@") or " " in plain:
        raise ValueError("this is not a mail address; write ann@example.com, or *@example.com for all of a domain")
    return plain.rstrip(".")
