"""`notify:` in the configuration: who is told that an approval waits."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from assent.config.section import Section


def _mail_address(text: str) -> str:
    name, _, domain = text.rpartition("@")
    if not name or not domain or not text.isprintable() or any(one in text for one in ' ,;<>"\\'):
        raise ValueError(f"{text[:80]!r} is no mail address; write it plainly, as in ann@example.com")
    return text


def _smtp_url(text: str) -> str:
    parts = urlsplit(text)
    plain = not (parts.username or parts.password or parts.query or parts.fragment or parts.path.strip("/"))
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname or not plain:
        raise ValueError("write smtp://host:port (STARTTLS) or smtps://host:port (TLS from the start)")
    return text


MailAddress = Annotated[str, AfterValidator(_mail_address)]
WebUrl = Annotated[str, Field(pattern=r"^https?://[^\s/]+", max_length=2000)]


class MailSettings(Section):
    """Mail over one SMTP server."""

    to: Annotated[tuple[MailAddress, ...], Field(min_length=1, max_length=50)]
    """The addresses that get the mail."""
    sender: MailAddress
    """The address that it comes from."""
    server: Annotated[str, AfterValidator(_smtp_url)]
    """The mail server: `smtp://host:port` (STARTTLS) or `smtps://host:port`."""
    username: str | None = None
    """The user name at the mail server."""
    password: str | None = None
    """The password at the mail server."""
    starttls: bool = True
    """For smtp://: no mail goes to a server that offers no TLS. Only a server on this machine may go without."""

    @model_validator(mode="after")
    def _no_password_in_the_clear(self) -> MailSettings:
        host = urlsplit(self.server).hostname
        if self.starttls or self.server.startswith("smtps://"):
            return self
        if host not in ("localhost", "127.0.0.1", "::1"):
            raise ValueError("starttls: false is for a server on this machine; mail to others goes over TLS")
        return self


class NotifySettings(Section):
    """One place where people are told, and of what."""

    webhook: WebUrl | None = None
    """An address that gets a signed JSON message."""
    secret: Annotated[str, Field(min_length=16)] | None = None
    """The key with which a webhook is signed."""
    slack: WebUrl | None = None
    """An incoming webhook of Slack."""
    teams: WebUrl | None = None
    """A workflow address of Teams."""
    mail: MailSettings | None = None
    """Mail over one SMTP server."""
    events: tuple[Literal["approval.pending"], ...] = ("approval.pending",)
    """What is announced."""
    tenant: str | None = None
    """Only approvals of this tenant; without it those of all."""
    arguments: bool = False
    """Whether the whole question is sent, arguments included. Without it no argument value leaves the gateway."""

    @model_validator(mode="after")
    def _one_channel(self) -> NotifySettings:
        named = [name for name in ("webhook", "slack", "teams", "mail") if getattr(self, name) is not None]
        if len(named) != 1:
            raise ValueError("a notification has exactly one of webhook, slack, teams and mail")
        if self.webhook is not None and self.secret is None:
            raise ValueError(
                "a webhook needs `secret` (16 characters or more): its receiver checks the signature by it"
            )
        if self.webhook is None and self.secret is not None:
            raise ValueError("`secret` signs a webhook; this is none")
        return self

    @property
    def channel(self) -> str:
        return next(name for name in ("webhook", "slack", "teams", "mail") if getattr(self, name) is not None)
