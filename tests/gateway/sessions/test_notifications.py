"""Who is told of which change."""

from __future__ import annotations

from typing import Any

from assent.gateway.sessions.notifications import MOST_WAITING, TOOLS_CHANGED, Notifications
from assent.gateway.sessions.table import SessionTable


def updated(uri: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}}


def table() -> SessionTable:
    return SessionTable(lambda: 0.0, iter("abcdefgh").__next__)


async def test_a_listener_hears_what_it_asked_for_and_nothing_else() -> None:
    notifications = Notifications(table())
    with notifications.listening({"toolsListChanged": True, "resourceSubscriptions": {"x://a": "shop"}}) as listener:
        for message in (
            {"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"},
            {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "log"}},
            updated("x://b"),
            updated("x://ab"),
            updated(7),
            updated("x://a/part"),
            TOOLS_CHANGED,
        ):
            notifications.publish(message, "shop")
        assert await listener.next() == updated("x://a/part")
        assert await listener.next() == TOOLS_CHANGED
        notifications.end()
        assert await listener.next() is None


async def test_a_session_hears_of_lists_and_of_its_own_resources() -> None:
    sessions = table()
    one, two = sessions.open("ann"), sessions.open("ann")
    one.subscriptions["x://a"] = "shop"
    notifications = Notifications(sessions)
    notifications.publish(updated("x://a"), "shop")
    notifications.publish(TOOLS_CHANGED)
    assert b"resources/updated" in await one.next_message()
    assert b"tools/list_changed" in await two.next_message()


async def test_an_update_counts_only_from_the_upstream_that_owns_the_resource() -> None:
    sessions = table()
    session, notifications = sessions.open("ann"), Notifications(sessions)
    session.subscriptions["x://a"] = "shop"
    with notifications.listening({"resourceSubscriptions": {"x://a": "shop"}}) as listener:
        for upstream, uri in (("other", "x://a"), ("other", "x://a/part"), ("shop", "x://a/part")):
            notifications.publish(updated(uri), upstream)
        assert b"x://a/part" in await session.next_message()
        notifications.end()
        assert await listener.next() == updated("x://a/part")
        assert await listener.next() is None


async def test_a_listener_that_does_not_read_holds_a_bounded_number() -> None:
    notifications = Notifications(table())
    with notifications.listening({"toolsListChanged": True}) as listener:
        for _ in range(MOST_WAITING * 3):
            notifications.publish(TOOLS_CHANGED)
        notifications.end()
        count = 0
        while await listener.next() is not None:
            count += 1
        assert count == MOST_WAITING - 1


async def test_who_comes_after_the_end_is_sent_away() -> None:
    notifications = Notifications(table())
    notifications.end()
    with notifications.listening({}) as listener:
        assert await listener.next() is None
