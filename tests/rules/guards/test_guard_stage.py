"""What guards leave behind: counts, approvals, explanations and audit entries."""

from __future__ import annotations

from typing import Any

import pytest

from assent.core.call import Request
from assent.core.outcome import Answer, Outcome, Refusal
from assent.pipeline.explain import explain
from assent.rules.guards import build_guard
from assent.testing.world import AGENT, World

SEND = {"send": {"side_effect": "write", "input": {"type": "object"}}}
READ = {"look": {"side_effect": "read", "input": {"type": "object"}}}
KEYWORD = {"rule": "block_keywords", "keywords": ["spam"]}


def world(*guards: dict[str, Any], tools: Any = SEND, **functions: Any) -> World:
    return World(tools, functions, guards=tuple(build_guard(one) for one in guards))


def code_of(outcome: Outcome) -> str | None:
    return outcome.code if isinstance(outcome, Refusal) else None


async def entries(made: World) -> list[Any]:
    return [logged.entry for logged in await made.store.entries(limit=1000)]


async def test_calls_are_counted_by_what_is_in_the_field() -> None:
    made = world({"rule": "call_rate", "fields": ["to"], "calls": 2, "per": "1h"})
    to_ann = [code_of(await made.call("send", {"to": "ann", "n": n})) for n in range(3)]
    assert to_ann == [None, None, "guard.denied"]
    assert code_of(await made.call("send", {"to": " ANN", "n": 9})) == "guard.denied"
    assert code_of(await made.call("send", {"to": "bob"})) is None
    made.clock.advance(3600)
    assert code_of(await made.call("send", {"to": "ann", "n": 4})) is None


async def test_a_refused_call_is_not_counted() -> None:
    made = world({"rule": "call_rate", "calls": 1, "per": "1h"}, KEYWORD)
    assert code_of(await made.call("send", {"text": "spam"})) == "guard.denied"
    assert code_of(await made.call("send", {"text": "ham"})) is None


async def test_reads_are_counted_too() -> None:
    made = world({"rule": "call_rate", "calls": 1, "per": "1h"}, tools=READ)
    assert [code_of(await made.call("look", {})) for _ in range(2)] == [None, "guard.denied"]


async def test_beyond_the_count_a_person_can_be_asked() -> None:
    made = world({"rule": "call_rate", "calls": 1, "per": "1h", "action": "approve"})
    assert code_of(await made.call("send", {"n": 1})) is None
    assert code_of(await made.call("send", {"n": 2})) == "confirm.approval_pending"


async def test_the_pending_problem_and_the_question_say_why() -> None:
    made = world({**KEYWORD, "action": "approve", "because": "Marketing decides."})
    outcome = await made.call("send", {"text": "spam"})
    assert isinstance(outcome, Refusal)
    why = "the guard block_keywords objects (text: it contains a blocked word): Marketing decides"
    assert f"It is asked because {why}." in outcome.problem()["detail"]
    approval = await made.store.approval(outcome.facts["approval"])
    assert approval is not None
    assert f"Asked because {why}." in approval.text


async def test_a_denial_names_rule_field_reason_and_your_reason() -> None:
    outcome = await world({**KEYWORD, "because": "See the style guide."}).call("send", {"a": [{"b": "spam"}]})
    assert isinstance(outcome, Refusal)
    assert outcome.problem()["detail"] == "a[0].b: it contains a blocked word. See the style guide."
    assert (outcome.facts["rule"], outcome.facts["field"]) == ("block_keywords", "a[0].b")


async def test_decide_shows_every_finding() -> None:
    made = world({**KEYWORD, "action": "warn"}, {**KEYWORD, "mode": "observe"}, {**KEYWORD, "action": "approve"})
    found = await explain(Request("send", {"text": "spam"}, AGENT), made.ports)
    shown = [(one["rule"], one["action"], one.get("observed", False)) for one in found.as_json()["guards"]]
    assert shown == [
        ("block_keywords", "warn", False),
        ("block_keywords", "deny", True),
        ("block_keywords", "approve", False),
    ]
    assert "warn by block_keywords: text: it contains a blocked word." in found.as_text()
    assert found.code == "confirm.approval_pending"


async def test_the_log_says_what_guards_did_and_keeps_fields_erasable() -> None:
    made = world({**KEYWORD, "action": "warn"})
    await made.call("send", {"text": "spam"})
    intent = next(entry for entry in await entries(made) if entry.kind == "intent")
    assert intent.facts["guards"] == ["block_keywords/warn"]
    assert intent.values["guards"] == [
        {"rule": "block_keywords", "field": "text", "reason": "it contains a blocked word"}
    ]


@pytest.mark.parametrize(("tools", "name", "kind"), [(SEND, "send", "outcome"), (READ, "look", "read")])
async def test_the_log_says_that_something_was_masked_and_not_what(tools: Any, name: str, kind: str) -> None:
    made = world(
        {"rule": "personal_data", "action": "mask"},
        tools=tools,
        **{name: lambda _: {"mails": ["ann@example.com", "bob@example.com"]}},
    )
    outcome = await made.call(name, {})
    assert isinstance(outcome, Answer)
    found = await entries(made)
    assert next(entry for entry in found if entry.kind == kind).facts["guards"] == ["personal_data/mask/2"]
    assert "example.com" not in repr(found)


async def test_a_hidden_path_to_a_private_address_is_looked_up_when_the_call_is_checked() -> None:
    made = world({"rule": "block_private_hosts"})
    answers = {"rebind.example.com": ("93.184.215.14",)}

    async def resolve(host: str) -> tuple[str, ...]:
        return answers.get(host, ())

    made.but(resolve=resolve)
    assert code_of(await made.call("send", {"url": "https://rebind.example.com/", "n": 1})) is None
    answers["rebind.example.com"] = ("93.184.215.14", "127.0.0.1")
    assert code_of(await made.call("send", {"url": "https://rebind.example.com/", "n": 2})) == "guard.denied"


async def test_a_dry_run_is_masked() -> None:
    tools = {
        "send": {
            "side_effect": "write",
            "dry_run": {"mode": "offered"},
            "input": {"type": "object", "properties": {"dryRun": {"type": "boolean"}}},
        }
    }
    made = world({"rule": "personal_data", "action": "mask"}, tools=tools, send=lambda _: {"to": "ann@example.com"})
    outcome = await made.call("send", {"dryRun": True})
    assert isinstance(outcome, Answer)
    assert outcome.result["structuredContent"]["to"] == "[masked: mail address]"
    assert "example.com" not in repr(outcome.result)


async def test_the_tools_own_question_is_masked_and_its_state_stays() -> None:
    question = {
        "resultType": "input_required",
        "inputRequests": {"q": {"method": "elicitation/create", "params": {"message": "Use ann@example.com?"}}},
        "requestState": "state of ann@example.com",
    }
    made = world({"rule": "personal_data", "action": "mask"}, send=lambda _: question)
    outcome = await made.call("send", {})
    assert isinstance(outcome, Answer)
    assert outcome.result["inputRequests"]["q"]["params"]["message"] == "Use [masked: mail address]?"
    assert outcome.result["requestState"] == question["requestState"]


async def test_a_result_that_cannot_be_masked_is_withheld() -> None:
    deep: Any = "ann@example.com"
    for _ in range(5000):
        deep = [deep]
    made = world({"rule": "personal_data", "action": "mask"}, tools=READ, look=lambda _: {"deep": deep})
    assert code_of(await made.call("look", {})) == "guard.result_denied"
