"""What a notification says, in the form that each channel takes."""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime, make_msgid
from typing import Any, NamedTuple

import orjson

from assent.config.notify import MailSettings
from assent.core.approval import Approval
from assent.core.question import visible

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
    return orjson.dumps({"text": _escaped(notice.title), "blocks": blocks})


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


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
