"""The channels that carry a notification: webhook, Slack, Teams and mail."""

from __future__ import annotations

import asyncio
import smtplib
import ssl
import time
from typing import Protocol
from urllib.parse import urlsplit

from assent.config.notify import MailSettings, NotifySettings
from assent.people.notify.message import Notice, mail_message, signature, slack_body, teams_body, webhook_body
from assent.upstreams.errors import UpstreamError
from assent.upstreams.http.address import UpstreamAddress
from assent.upstreams.http.circuit_breaker import CircuitBreaker
from assent.upstreams.http.pool import Limits, Pool

WITHIN = 15.0
_TRY_AGAIN = frozenset({408, 425, 429})


class Undelivered(Exception):
    """A notification was not taken; `again` says whether another try can help."""

    def __init__(self, why: str, *, again: bool = True) -> None:
        super().__init__(why)
        self.again = again


class Channel(Protocol):
    """One place where people are told."""

    async def send(self, notice: Notice) -> None:
        """Deliver, or raise Undelivered."""
        ...


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


def channel_of(settings: NotifySettings) -> Channel:
    return MailChannel(settings.mail) if settings.mail is not None else HttpChannel(settings)
