"""The channels of notifications, and what a message says in the form that each takes."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import smtplib
import ssl
import time
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime, make_msgid
from html import escape
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import orjson

from assent.config.notify import MailSettings, NotifySettings
from assent.core.approval import Approval
from assent.core.question import visible
from assent.upstreams.errors import UpstreamError
from assent.upstreams.http.address import UpstreamAddress
from assent.upstreams.http.circuit_breaker import CircuitBreaker
from assent.upstreams.http.pool import Limits, Pool

MOST_TEXT = 20_000


class Notice(NamedTuple):
    """One approval that waits, as people are told of it."""

    approval: str
    tool: str
    tier: str
    risk: str
    requester: str
    tenant: str
    by: str
    quorum: int
    asked_at: float
    expires_at: float
    url: str
    text: str | None
    """The whole question with its arguments, where the configuration asks for it."""

    @classmethod
    def of(cls, approval: Approval, url: str, *, arguments: bool) -> Notice:
        facts = approval.facts
        return cls(
            approval.id,
            visible(approval.tool),
            str(facts.get("tier", "")),
            str(facts.get("risk", "")),
            visible(approval.requester),
            visible(approval.tenant),
            approval.by,
            approval.quorum,
            approval.asked_at,
            approval.expires_at,
            url,
            approval.text[:MOST_TEXT] if arguments else None,
        )

    @property
    def title(self) -> str:
        return f"Approval needed: {self.tool}"

    @property
    def facts(self) -> list[tuple[str, str]]:
        until = datetime.fromtimestamp(self.expires_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
        return [
            ("Tool", self.tool),
            ("Effect", f"{self.tier}, risk {self.risk}"),
            ("Requested by", f"{self.requester} (tenant {self.tenant})"),
            ("Decide by", until),
        ]


def webhook_body(notice: Notice) -> bytes:
    said = {name: value for name, value in notice._asdict().items() if value is not None}
    return orjson.dumps({"event": "approval.pending", **said})


def signature(secret: str, timestamp: int, body: bytes) -> str:
    """`v1=` and the HMAC-SHA256, in hex, of the time, a full stop and the body."""
    return "v1=" + hmac.new(secret.encode(), b"%d.%b" % (timestamp, body), hashlib.sha256).hexdigest()


def slack_body(notice: Notice) -> bytes:
    """An incoming webhook of Slack. Text of callers is `plain_text`, in which nothing is a link or a mention."""
    lines = "\n".join(f"{name}: {value}" for name, value in notice.facts)
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": _plain(notice.title[:150])},
        {"type": "section", "text": _plain(lines[:2900])},
    ]
    if notice.text is not None:
        blocks.append({"type": "section", "text": _plain(notice.text[:2900])})
    blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": f"<{notice.url}|Open the approval>"}})
    return orjson.dumps({"text": escape(notice.title, quote=False), "blocks": blocks})


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


def teams_body(notice: Notice) -> bytes:
    """A card for an incoming webhook of Teams. Text runs are not Markdown, so callers' text stays text."""
    lines = [(notice.title, True), *((f"{name}: {value}", False) for name, value in notice.facts)]
    if notice.text is not None:
        lines.append((notice.text, False))
    blocks = [
        {
            "type": "RichTextBlock",
            "inlines": [{"type": "TextRun", "text": text, **({"weight": "Bolder"} if bold else {})}],
        }
        for text, bold in lines
    ]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": blocks,
        "actions": [{"type": "Action.OpenUrl", "title": "Open the approval", "url": notice.url}],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return orjson.dumps({"type": "message", "attachments": [attachment]})


def mail_message(notice: Notice, settings: MailSettings) -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = notice.title[:150]
    message["From"], message["To"] = settings.sender, ", ".join(settings.to)
    message["Date"] = format_datetime(datetime.now(UTC))
    message["Message-ID"] = make_msgid(notice.approval, settings.sender.rpartition("@")[2])
    message["Auto-Submitted"] = "auto-generated"
    lines = [f"{name}: {value}" for name, value in notice.facts]
    question = ["", notice.text] if notice.text is not None else []
    rest = "Sign in there to decide. A reply to this mail decides nothing."
    message.set_content("\n".join([*lines, *question, "", notice.url, "", rest, ""]))
    return message


WITHIN = 15.0
_TRY_AGAIN = frozenset({408, 425, 429})


class Undelivered(Exception):
    """A notification was not taken; `again` says whether another try can help."""

    def __init__(self, why: str, *, again: bool = True) -> None:
        super().__init__(why)
        self.again = again


class HttpChannel:
    """A webhook: signed with the operator's secret, or in the form that Slack or Teams takes."""

    def __init__(self, settings: NotifySettings) -> None:
        self._settings = settings
        self._address = UpstreamAddress.of(settings.webhook or settings.slack or settings.teams or "")

    async def send(self, notice: Notice) -> None:
        body, fields = self._request(notice)
        limits = Limits(connections=1, silence=WITHIN, total=WITHIN)
        pool = Pool("notification", self._address, limits, CircuitBreaker("notification", time.monotonic))
        try:
            response = await pool.send(b"POST", [(b"content-type", b"application/json"), *fields], body)
            await response.read(64 * 1024)
        except UpstreamError as error:
            raise Undelivered(error.detail) from None
        except ValueError:
            raise Undelivered("the answer is too long") from None
        finally:
            await pool.close()
        if not 200 <= response.status < 300:  # no redirect is followed: it would lead the signed body elsewhere
            again = response.status >= 500 or response.status in _TRY_AGAIN
            raise Undelivered(f"answered {response.status}", again=again)

    def _request(self, notice: Notice) -> tuple[bytes, list[tuple[bytes, bytes]]]:
        if self._settings.slack is not None:
            return slack_body(notice), []
        if self._settings.teams is not None:
            return teams_body(notice), []
        body, at = webhook_body(notice), int(time.time())
        assert self._settings.secret is not None
        signed = signature(self._settings.secret, at, body)
        return body, [
            (b"assent-timestamp", b"%d" % at),
            (b"assent-signature", signed.encode()),
            (b"assent-delivery", notice.approval.encode()),
        ]


class MailChannel:
    """Mail over SMTP, in a thread: the standard library's client waits for its server."""

    def __init__(self, settings: MailSettings) -> None:
        self._settings = settings

    async def send(self, notice: Notice) -> None:
        try:
            await asyncio.to_thread(self._deliver, notice)
        except smtplib.SMTPResponseException as error:
            raise Undelivered(f"the mail server answered {error.smtp_code}", again=error.smtp_code < 500) from None
        except smtplib.SMTPRecipientsRefused as error:
            again = any(code < 500 for code, _ in error.recipients.values())
            raise Undelivered("the mail server refused every recipient", again=again) from None
        except (OSError, smtplib.SMTPException) as error:
            raise Undelivered(f"the mail server failed: {type(error).__name__}") from None

    def _deliver(self, notice: Notice) -> None:
        settings, parts = self._settings, urlsplit(self._settings.server)
        host, context = parts.hostname or "", ssl.create_default_context()
        if parts.scheme == "smtps":
            client: smtplib.SMTP = smtplib.SMTP_SSL(host, parts.port or 465, timeout=WITHIN, context=context)
        else:
            client = smtplib.SMTP(host, parts.port or 587, timeout=WITHIN)
        with client:
            if parts.scheme == "smtp" and settings.starttls:
                client.starttls(context=context)
            if settings.username is not None:
                client.login(settings.username, settings.password or "")
            client.send_message(mail_message(notice, settings))


Channel = HttpChannel | MailChannel
"""One place where people are told; `send` delivers or raises Undelivered."""


def channel_of(settings: NotifySettings) -> Channel:
    return MailChannel(settings.mail) if settings.mail is not None else HttpChannel(settings)
