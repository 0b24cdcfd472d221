"""Large texts are read apart from the event loop, and flow control finds in them what it finds in one piece."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Coroutine, Iterator
from typing import Any

import orjson
import pytest

from assent.core.call import Call, ConversationRef
from assent.rules.flow.control import FlowControl, labels_of
from assent.rules.flow.conversation import Conversation, Origin, new_hash
from assent.rules.flow.values import MOST_TEXT
from support.agents.flow_talk import AGENT, ATTACK, TOOLS, Talk, settled

TURN = 0.008
"""Seconds of processor time that the event loop may spend in one turn: reading these texts takes ten times as long."""
MAIL = "Dear Ann, write to ann{0}.lee@example.com or call +49 30 1{0:06} about https://x{0}.example.com/a?b=c today.\n"
TEXT = "".join(map(MAIL.format, range(1_200)))
RESULTS: dict[str, dict[str, Any]] = {
    "one text": {"content": [{"type": "text", "text": TEXT}]},
    "many fields": {"structuredContent": {"hosts": [f"https://h{number}.example.com/" for number in range(4_000)]}},
    "numbers": {"structuredContent": {"result": list(range(1_000_000, 1_009_000))}},
    "other letters": {"structuredContent": {"mails": [{"body": "Grüße von аnn@example.com. " * 900}] * 3}},
}


@pytest.fixture(autouse=True)
def _nothing_else() -> Iterator[None]:
    """The labels of a tool are inferred once, when it is listed. Garbage of other tests is not collected meanwhile."""
    for tool in TOOLS.values():
        labels_of(tool)
    gc.disable()
    yield
    gc.enable()


def call(tool: str, conversation: ConversationRef | None = None, **arguments: Any) -> Call:
    plain = orjson.dumps(arguments)
    return Call(AGENT, TOOLS[tool], arguments, plain, str(hash(plain)), "", conversation=conversation, scratch={})


async def longest_turn(work: Coroutine[Any, Any, Any] | Any) -> float:
    """The most processor time that the event loop's own thread spends between two turns while something is awaited."""
    loop, longest, last = asyncio.get_running_loop(), 0.0, time.thread_time()

    def tick() -> None:
        nonlocal longest, last
        now = time.thread_time()
        longest, last = max(longest, now - last), now
        if not task.done():
            loop.call_soon(tick)

    assert asyncio.iscoroutine(work), "it was read at once"
    task = asyncio.create_task(work)
    loop.call_soon(tick)
    await task
    tick()
    return longest


@pytest.mark.parametrize("kind", RESULTS)
async def test_a_large_result_does_not_hold_the_event_loop(kind: str) -> None:
    flow = FlowControl("ask")
    assert await longest_turn(flow.remember(call("search_mails"), RESULTS[kind], 0.0)) < TURN


@pytest.mark.parametrize("tool", ["send_mail", "open_page"])
async def test_a_large_call_and_a_yes_to_it_do_not_hold_the_event_loop(tool: str) -> None:
    flow, words = FlowControl("ask"), ConversationRef("talk", "Please answer Ann.")
    await flow.remember(call("search_mails", words), RESULTS["one text"], 0.0)  # type: ignore[misc]
    large = call(tool, words, to="ann@x.example", url="https://x1.example.com/", body=TEXT[:30_000], subject=TEXT)
    assert await longest_turn(flow.check(large, 0.0)) < TURN
    flow.vouch(large, 0.0)


async def test_many_words_of_a_user_do_not_hold_the_event_loop_and_are_read_once() -> None:
    flow, words = FlowControl("ask"), ConversationRef("talk", TEXT)
    assert await longest_turn(flow.hear(AGENT, words, 0.0)) < TURN
    assert flow.hear(AGENT, words, 0.0) is None
    assert isinstance(flow.check(call("list_files", words, name="a"), 0.0), list)


async def test_words_that_are_heard_while_many_are_read_are_kept() -> None:
    flow = FlowControl("ask")
    reading = asyncio.create_task(flow.hear(AGENT, ConversationRef("talk", TEXT[:9_000]), 0.0))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    flow.hear(AGENT, ConversationRef("talk", "Write to zoe@x.example"), 0.0)
    await reading
    [kept] = flow.conversations(AGENT.tenant)
    assert kept.user.give("address", "zoe@x.example") and kept.user.give("address", "ann1.lee@example.com")


@pytest.mark.parametrize("kind", RESULTS)
@pytest.mark.parametrize("trusted", [True, False])
def test_a_result_that_is_read_apart_is_remembered_like_one_that_is_read_at_once(kind: str, trusted: bool) -> None:
    first = Origin("read", 0.0, trusted=True, private=False)
    origin = Origin("search", 1.0, trusted=trusted, private=True)
    at_once, apart = (Conversation(new_hash()) for _ in range(2))
    apart.hash = at_once.hash
    for one in (at_once, apart):
        one.pass_in([one.hash("ann2.lee@example.com")])
        one.remember(first, {"structuredContent": {"from": "ann1.lee@example.com", "host": "h7.example.com"}})
    at_once.remember(origin, RESULTS[kind], False)
    draft = apart.draft()
    draft.remember(origin, RESULTS[kind], False)
    apart.merge(draft)
    for part in ("values", "phrases", "risky", "untrusted", "private", "forgot", "suspicious", "results", "passed"):
        assert getattr(at_once, part) == getattr(apart, part), part
    assert at_once.disguised.keys() == apart.disguised.keys()


async def test_a_value_of_a_large_result_is_asked_about() -> None:
    talk = Talk("Please answer the mail about the hiking trip.")
    await talk.flow.remember(  # type: ignore[misc]
        talk.call("search_mails"), {"content": [{"type": "text", "text": "Word " * 2_000 + ATTACK}]}, 0.0
    )
    found = talk.flow.check(talk.call("send_mail", to="mark.black-2134@gmail.com", body="x"), 1.0)
    assert isinstance(found, list) and [one.rule for one in found] == ["flow.recipients.untrusted"]


async def test_a_large_result_that_cannot_be_read_counts_as_untrusted() -> None:
    flow = FlowControl("ask")
    await flow.remember(call("list_channels"), {"content": 5, "structuredContent": {"x": "y " * 4_000}}, 0.0)  # type: ignore[misc]
    [kept] = flow.conversations(AGENT.tenant)
    assert kept.forgot and kept.untrusted is not None


def test_a_yes_to_a_text_is_none_to_another_with_the_same_beginning() -> None:
    talk, long = Talk("Please clean up."), "word " * (MOST_TEXT // 5 + 1)
    talk.read("search_mails", ATTACK)
    asked = talk.call("delete_file", file_id=long + "a")
    assert settled(talk.flow.check(asked, 0.0))
    settled(talk.flow.vouch(asked, 0.0))
    assert settled(talk.flow.check(asked, 0.0)) == []
    assert settled(talk.flow.check(talk.call("delete_file", file_id=long + "b"), 0.0))


def test_a_title_that_is_too_long_to_be_read_is_asked_about() -> None:
    talk = Talk("Please plan my week.")
    talk.read("search_mails", ATTACK)
    assert talk.asks("create_event", title="plan my week " * 3_000 + ATTACK)
