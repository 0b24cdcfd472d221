"""People are told of a waiting approval by signed webhook, Slack, Teams and mail; they decide elsewhere."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from assent.config.load import parse_settings
from assent.config.notify import NotifySettings
from assent.core.approval import Approval
from assent.errors import SettingsError
from assent.people.notify import notifier
from assent.people.notify.notifier import Notifier
from assent.stores.memory import MemoryStore
from support.console.notice_sinks import hook, mail_server
from support.console.plain_browser import signed_in
from support.decisions.problems import problem
from support.gateway.gateways import post, rpc, shop_gateway

SECRET = "a secret of the operator"
CALL = rpc("tools/call", name="delete_order", arguments={"order_id": "card-4711"})


def approval(name: str = "a-1", **more: Any) -> Approval:
    now = time.time()
    facts = {"tier": "destructive", "risk": "critical"}
    made: dict[str, Any] = {
        "id": name,
        "binding": name,
        "tenant": "acme",
        "requester": "ci",
        "tool": "delete_order",
        "by": "approver",
        "quorum": 1,
        "text": "delete_order order_id: card-4711",
        "facts": facts,
        "asked_at": now,
        "expires_at": now + 600,
        "lasts": 600,
        "uses": 1,
    }
    return Approval(**{**made, **more})


@asynccontextmanager
async def notifying(*channels: Mapping[str, Any], store: MemoryStore | None = None) -> AsyncIterator[Notifier]:
    settings = [NotifySettings.model_validate(one) for one in channels]
    kept = store or MemoryStore()
    made = Notifier(settings, kept, time.time, lambda one: f"https://gate.example/console/approvals/{one}", 0.01)
    made.start()
    try:
        yield made
    finally:
        await made.stop()


async def test_a_waiting_call_sends_a_signed_webhook_with_a_link_and_no_arguments(tmp_path: Path) -> None:
    async with hook() as sink:
        notify = [{"webhook": sink.url, "secret": SECRET}]
        async with shop_gateway(tmp_path, notify=notify) as (url, gateway_app, shop):
            waiting = problem((await post(url, CALL)).json()["result"])["approval"]
            await post(url, CALL)
            await sink.until(1)
            body, headers = sink.bodies[0], sink.headers[0]
            said = json.loads(body)
            assert (said["event"], said["approval"], said["tool"]) == ("approval.pending", waiting, "delete_order")
            assert said["url"].endswith(f"/console/approvals/{waiting}")
            assert b"card-4711" not in body
            at = headers["assent-timestamp"]
            expected = hmac.new(SECRET.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
            assert headers["assent-signature"] == f"v1={expected}"
            assert abs(int(at) - time.time()) < 60
            assert headers["assent-delivery"] == waiting
            assert shop.effects == []
            async with signed_in(url, gateway_app.store) as person:
                link = said["url"][said["url"].index("/console/") :]
                assert (await person.get(link)).status_code == 200
        assert len(sink.bodies) == 1


async def test_arguments_are_sent_where_the_configuration_asks_for_them() -> None:
    async with hook() as sink:
        async with notifying({"webhook": sink.url, "secret": SECRET, "arguments": True}) as made:
            made.offer(approval())
            await sink.until(1)
        assert "card-4711" in json.loads(sink.bodies[0])["text"]


async def test_slack_and_teams_get_a_link_and_nothing_that_decides() -> None:
    async with hook() as slack, hook() as teams:
        async with notifying({"slack": slack.url}, {"teams": teams.url}) as made:
            made.offer(approval(requester="<!channel> [x](http://evil.example) \u202e"))
            await slack.until(1)
            await teams.until(1)
        said = json.loads(slack.bodies[0])
        assert [one["text"]["type"] for one in said["blocks"]] == ["plain_text", "plain_text", "mrkdwn"]
        assert said["blocks"][-1]["text"]["text"].startswith("<https://gate.example/console/approvals/a-1|")
        card = json.loads(teams.bodies[0])["attachments"][0]["content"]
        assert {one["type"] for one in card["body"]} == {"RichTextBlock"}
        assert [(one["type"], one["url"]) for one in card["actions"]] == [
            ("Action.OpenUrl", "https://gate.example/console/approvals/a-1")
        ]
        for body in (slack.bodies[0], teams.bodies[0]):
            assert b"card-4711" not in body and "\u202e" not in body.decode()
            assert b"Action.Submit" not in body and b"Action.Http" not in body and b"button" not in body


async def test_mail_reaches_a_real_server_and_cannot_be_given_more_headers() -> None:
    async with mail_server() as sink:
        mail = {
            "to": ["ann@example.com", "bob@example.com"],
            "sender": "assent@example.com",
            "server": f"smtp://127.0.0.1:{sink.port}",
            "starttls": False,
        }
        async with notifying({"mail": mail}) as made:
            made.offer(approval(tool="delete\r\nBcc: eve@example.com"))
            await sink.until(1)
    sent = sink.mails[0]
    assert sent["To"] == "ann@example.com, bob@example.com" and sent["Bcc"] is None
    assert len(sink.recipients) == 2
    text = sent.get_content()
    assert "https://gate.example/console/approvals/a-1" in text
    assert "decides nothing" in text and "card-4711" not in text


async def test_a_receiver_that_fails_is_tried_again_and_one_that_refuses_is_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with hook(503, 429) as failing, hook(400) as refusing, mail_server(b"451 later") as mails:
        mail = {
            "to": ["ann@example.com"],
            "sender": "a@example.com",
            "server": f"smtp://127.0.0.1:{mails.port}",
            "starttls": False,
        }
        async with notifying(
            {"webhook": failing.url, "secret": SECRET}, {"slack": refusing.url}, {"mail": mail}
        ) as made:
            made.offer(approval())
            await failing.until(3)
            await refusing.until(1)
            made.offer(approval("a-2"))
            await failing.until(4)
            await refusing.until(2)
            await mails.until(2)
        assert [json.loads(one)["approval"] for one in failing.bodies] == ["a-1", "a-1", "a-1", "a-2"]
        assert len(refusing.bodies) == 2
        assert "a-1 was not announced: answered 400" in caplog.text
        assert refusing.url not in caplog.text and SECRET not in caplog.text


async def test_mail_is_not_sent_to_a_server_without_tls() -> None:
    async with mail_server() as sink:
        mail = {"to": ["a@example.com"], "sender": "b@example.com", "server": f"smtp://127.0.0.1:{sink.port}"}
        async with notifying({"mail": mail}, {"mail": {**mail, "starttls": False}}) as made:
            made.offer(approval())
            await sink.until(1)
        assert len(sink.mails) == 1


async def test_replicas_announce_an_approval_once() -> None:
    store = MemoryStore()
    async with hook() as sink:
        channel = {"webhook": sink.url, "secret": SECRET}
        async with notifying(channel, store=store) as one, notifying(channel, store=store) as other:
            for made in (one, other):
                made.offer(approval())
                made.offer(approval())
            one.offer(approval("a-2"))
            other.offer(approval("a-3"))
            await sink.until(3)
        names = sorted(json.loads(one)["approval"] for one in sink.bodies)
        assert names == ["a-1", "a-2", "a-3"]


async def test_another_tenants_approvals_are_not_announced() -> None:
    async with hook() as sink:
        async with notifying({"webhook": sink.url, "secret": SECRET, "tenant": "acme"}) as made:
            made.offer(approval("a-0", tenant="other"))
            made.offer(approval("a-1"))
            await sink.until(1)
        assert [json.loads(one)["approval"] for one in sink.bodies] == ["a-1"]


async def test_a_full_queue_drops_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(notifier, "MOST_WAITING", 3)
    async with hook() as sink:
        async with notifying({"webhook": sink.url, "secret": SECRET}) as made:
            for number in range(10):
                made.offer(approval(f"a-{number}"))
            assert made.dropped == 7
            await sink.until(3)
    assert "too many wait" in caplog.text


@pytest.mark.parametrize(
    ("channel", "says"),
    [
        ({}, "exactly one"),
        ({"webhook": "https://a.example", "slack": "https://b.example", "secret": SECRET}, "exactly one"),
        ({"webhook": "https://a.example"}, "secret"),
        ({"webhook": "https://a.example", "secret": "short"}, "16"),
        ({"slack": "https://a.example", "secret": SECRET}, "secret"),
        ({"slack": "ftp://a.example"}, "notify.0.slack"),
        ({"mail": {"to": [], "sender": "a@b.example", "server": "smtp://h"}}, "to"),
        ({"mail": {"to": ["a@b.example\nBcc: x"], "sender": "a@b.example", "server": "smtp://h"}}, "mail address"),
        ({"mail": {"to": ["a@b.example"], "sender": "a@b.example", "server": "http://h"}}, "smtp"),
        ({"mail": {"to": ["a@b.example"], "sender": "a@b.example", "server": "smtp://h", "starttls": False}}, "TLS"),
        ({"slack": "https://a.example", "events": ["all"]}, "approval.pending"),
        ({"slack": "https://a.example", "decide": True}, "decide"),
    ],
)
def test_a_wrong_notification_is_refused_with_the_reason(channel: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsError) as refused:
        parse_settings(json.dumps({"notify": [channel]}))
    assert says in str(refused.value)


def test_a_notifier_that_starts_anew_sends_what_comes_then_and_nothing_from_before() -> None:
    """A library server may run twice in a process, each time in an event loop of its own."""
    settings = [NotifySettings.model_validate({"webhook": "http://127.0.0.1:9/", "secret": SECRET})]
    made = Notifier(settings, MemoryStore(), time.time, lambda one: f"https://gate.example/{one}", 0.01)
    sent: list[str] = []

    class Sink:
        async def send(self, notice: Any) -> None:
            sent.append(notice.approval)

    made._channels = [Sink()]  # type: ignore[list-item]

    async def run(name: str, patience: int) -> None:
        made.start()
        await asyncio.sleep(0)
        made.offer(approval(id=name))
        for _ in range(patience):
            await asyncio.sleep(0)
        await made.stop()

    for name, patience in (("first", 20), ("second", 20), ("left", 0), ("last", 20)):
        asyncio.run(run(name, patience))
    assert sent == ["first", "second", "last"]
