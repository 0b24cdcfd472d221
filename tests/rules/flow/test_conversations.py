"""Conversations: who shares one, what is bounded, and labels of results."""

from __future__ import annotations

from typing import Any

import pytest

from assent.core.principal import Principal
from assent.rules.flow import control, conversation
from assent.rules.flow.control import FlowControl
from support.agents.flow_talk import MAILS, TOOLS, Talk, settled

ANN, BOB = Principal("ann", "agent"), Principal("bob", "agent")


def test_conversations_of_other_principals_and_tenants_are_apart_even_with_the_same_name() -> None:
    flow = FlowControl("ask")
    Talk(flow=flow, by=ANN).read("search_mails", MAILS)
    for other in (BOB, Principal("ann", "agent", tenant="other")):
        assert Talk(flow=flow, by=other).asks("send_mail", to="mark.black-2134@gmail.com", body="x") == []
    assert Talk(flow=flow, by=ANN).asks("send_mail", to="mark.black-2134@gmail.com", body="x") != []


def test_the_words_of_one_conversation_do_not_vouch_for_values_of_another() -> None:
    flow = FlowControl("ask")
    Talk("Write to mark.black-2134@gmail.com", flow, "first").asks("send_mail", to="x")
    other = Talk("Summarise my mails and send them to me", flow, "second")
    other.read("search_mails", MAILS)
    assert other.asks("send_mail", to="mark.black-2134@gmail.com", body="x") == ["flow.recipients.untrusted"]


def test_a_new_conversation_name_does_not_make_a_foreign_value_the_users() -> None:
    flow = FlowControl("ask")
    Talk("Summarise my mails", flow, "first").read("search_mails", MAILS)
    laundered = Talk("Summarise my mails", flow, "second")
    assert laundered.asks("send_mail", to="mark.black-2134@gmail.com", body="x") == ["flow.recipients.unknown"]


def test_a_caller_without_a_name_starts_a_new_conversation_after_the_window() -> None:
    talk = Talk(name="")
    talk.read("search_mails", MAILS)
    call = talk.call("send_mail", to="mark.black-2134@gmail.com", body="x")
    assert talk.flow.check(call, 36130.0 + 3000) != []
    assert talk.flow.check(call, 36130.0 + 3000 + 3601) == []


def test_memory_is_bounded_per_conversation_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "MOST_REMEMBERED", 200)
    talk = Talk("Hello")
    for number in range(50):
        talk.read("search_mails", f"Mail {number}: write to person{number}@example.com or to www.host{number}.com soon")
    [kept] = talk.flow.conversations("local")
    assert len(kept.values) + len(kept.phrases) <= 200 + 50
    assert kept.forgot


def test_a_full_conversation_is_told_once_in_the_log_and_in_a_finding_and_shown_in_its_report(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(conversation, "MOST_REMEMBERED", 20)
    talk = Talk()
    talk.read("list_files", [f"file-{number}.txt" for number in range(15)])
    assert talk.asks("create_event", title="Dinner") == []
    assert [one["full"] for one in talk.flow.report("local")] == [False]
    talk.read("list_files", [f"other-{number}.txt" for number in range(15)])
    assert talk.asks("create_event", title="Lunch") == ["flow.memory.full"]
    assert talk.asks("create_event", title="Breakfast") == []
    assert [one["full"] for one in talk.flow.report("local")] == [True]
    assert [one.levelname for one in caplog.records] == ["WARNING"]
    assert "remembers no more of the conversation 'talk' of agent" in caplog.text


def test_no_text_of_a_call_stays_in_memory_once_its_result_is_remembered() -> None:
    talk = Talk()
    call = talk.call("send_mail", to="zanzibar@example.com", body="x")._replace(scratch={}, fingerprint="f")
    talk.flow.check(call, 0.0)
    talk.flow.remember(call, {"structuredContent": {"to": "zanzibar@example.com"}}, 0.0)
    [kept] = talk.flow.conversations("local")
    assert call.scratch == {}
    assert "zanzibar" not in repr(kept)


def test_without_the_users_words_an_unknown_address_is_asked_about_once_something_was_too_long() -> None:
    talk = Talk()
    talk.read("search_mails", "Nothing of interest. " * 3000 + "Write to mark.black-2134@gmail.com")
    assert talk.asks("send_mail", to="mark.black-2134@gmail.com", body="x") == ["flow.recipients.unknown"]


def test_the_number_of_conversations_and_all_values_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "MOST_CONVERSATIONS", 10)
    flow = FlowControl("ask")
    for number in range(30):
        Talk("Hello", flow, f"talk {number}").read("search_mails", MAILS)
    assert [one.name for one in flow.conversations("local")][:2] == ["talk 29", "talk 28"]
    assert len(flow.conversations("local")) == 10
    monkeypatch.setattr(control, "MOST_IN_ALL", 100)
    Talk("Hello", flow, "last").read("search_mails", MAILS)
    assert len(flow.conversations("local")) < 10


@pytest.mark.parametrize(("bound", "most"), [("MOST_CONVERSATIONS", 10), ("MOST_IN_ALL", 300)])
def test_a_caller_with_many_conversations_does_not_push_out_those_of_others(
    bound: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, bound, most)
    flow = FlowControl("ask")
    Talk("Send me my mails", flow, "work", by=ANN).read("search_mails", MAILS)
    for number in range(40):
        Talk("Hello", flow, f"talk {number}", by=BOB).read("search_mails", MAILS)
    talk = Talk("Send me my mails", flow, "work", by=ANN)
    assert talk.asks("send_mail", to="mark.black-2134@gmail.com", body="x") == ["flow.recipients.untrusted"]


def test_a_conversation_is_harmless_until_something_was_read_that_could_matter() -> None:
    talk = Talk()
    talk.asks("send_mail", to="ann@example.com", body="x")
    [kept] = talk.flow.conversations("local")
    assert kept.is_harmless
    talk.read("search_mails", MAILS)
    assert not kept.is_harmless
    assert talk.asks("send_mail", to="mark.black-2134@gmail.com", body="x") == ["flow.recipients.untrusted"]


def test_no_value_and_no_word_of_the_user_is_in_the_report() -> None:
    talk = Talk("My secret plan is to visit Zanzibar")
    talk.read("search_mails", MAILS)
    talk.asks("send_mail", to="mark.black-2134@gmail.com", body="x")
    shown = repr(talk.flow.report("local"))
    assert "would ask" not in shown and "asked: recipients from untrusted" in shown
    assert "mark.black" not in shown and "zanzibar" not in shown.lower()
    assert talk.flow.report("other") == []


def test_remembered_values_are_hashes() -> None:
    talk = Talk("Hello")
    talk.read("search_mails", MAILS)
    [kept] = talk.flow.conversations("local")
    assert all(isinstance(key, int) for key in (*kept.values, *kept.phrases, *kept.disguised))
    assert "mark.black" not in repr(kept.values)


LABELS: list[tuple[Any, bool]] = [
    ({"_meta": {"ifc": {"integrity": "untrusted", "confidentiality": ["public"]}}}, True),
    ({"_meta": {"ifc": {"trust": "untrusted", "audience": "public"}}}, True),
    ({"content": [{"type": "text", "text": "x", "_meta": {"security_label": {"integrity": "untrusted"}}}]}, True),
    ({"_meta": {"ifc": "nonsense"}}, True),
    ({"_meta": {"ifc": {"integrity": "trusted", "confidentiality": ["public"]}}}, False),
    ({}, False),
]


@pytest.mark.parametrize(("said", "untrusted"), LABELS)
def test_a_servers_label_makes_its_result_stricter(said: dict[str, Any], untrusted: bool) -> None:
    talk = Talk("Hello")
    talk.flow.remember(talk.call("list_channels"), {"structuredContent": {"result": ["general"]}, **said}, 0.0)
    [kept] = talk.flow.conversations("local")
    assert (kept.untrusted is not None) is untrusted


def test_a_servers_label_makes_its_result_laxer_only_if_the_operator_trusts_it() -> None:
    label = {"_meta": {"ifc": {"integrity": "trusted", "confidentiality": ["ann", "bob"]}}}
    for trusted in (False, True):
        talk = Talk("Hello")
        tool = TOOLS["search_mails"]
        chosen = type(tool)(tool.contract, definition=tool.definition, labels_trusted=trusted)
        talk.flow.remember(talk.call("search_mails")._replace(tool=chosen), {"content": [], **label}, 0.0)
        [kept] = talk.flow.conversations("local")
        assert (kept.untrusted is None) is trusted
        assert kept.private is not None


def test_labels_are_shown_if_configured() -> None:
    talk = Talk("Hello", FlowControl("observe", emits_labels=True))
    given = {"content": [], "_meta": {"own": 1}}
    shown = talk.flow.remember(talk.call("search_mails"), given, 0.0)
    assert shown["_meta"] == {"own": 1, "ifc": {"integrity": "untrusted", "confidentiality": ["private"]}}
    plain = Talk("Hello")
    assert plain.flow.remember(plain.call("search_mails"), given, 0.0) is given


def test_the_classical_rule_asks_before_a_way_out_after_private_and_untrusted_results() -> None:
    talk = Talk("Send it to ann@example.com", FlowControl("ask", "labels"))
    assert talk.asks("send_mail", to="ann@example.com", body="x") == []
    talk.read("search_mails", MAILS)
    assert talk.asks("send_mail", to="ann@example.com", body="x") == ["flow.action.untrusted"]
    assert talk.asks("create_event", title="Dinner") == []


ODD: list[Any] = [
    None,
    "",
    "\ud800 lone",
    2**80,
    float("nan"),
    {"a": {"b": [{}, [], None, True]}},
    {"": "", "\x00": "\x00"},
    "%" * 50 + "@.@" * 50,
    "=" * 100 + "A" * 5000,
    ["x"] * 6000,
    "a@" * 3000,
    "1 " * 5000,
]


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_odd_values_are_read_and_judged_without_failing(odd: Any) -> None:
    talk = Talk("Hello")
    for result in ({"structuredContent": odd}, {"content": [{"type": "text", "text": odd}]}, {"content": odd}):
        settled(talk.flow.remember(talk.call("search_mails"), result, 0.0))
    for tool in ("send_mail", "open_page", "create_event", "send_money"):
        settled(talk.flow.check(talk.call(tool, to=odd, url=odd, title=odd, body=odd, amount=odd), 0.0))


def test_what_cannot_be_read_counts_as_untrusted() -> None:
    talk = Talk()
    talk.flow.remember(talk.call("list_channels"), {"content": 5}, 0.0)
    [kept] = talk.flow.conversations("local")
    assert kept.forgot and kept.untrusted is not None
