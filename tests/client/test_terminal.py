"""The person at the terminal, and nobody at all."""

from __future__ import annotations

import asyncio
import io
from queue import SimpleQueue
from typing import Any

import pytest
from rich.console import Console

from assent.client.question import Answer, Question, as_answer
from assent.client.terminal import Terminal, leave_to_server, refuse
from assent.client.tool_policy import ToolPolicy
from assent.contract.tiers import Risk, Tier

SPEND = ToolPolicy(Tier.EXTERNAL_SPEND, Risk.CRITICAL, True, "tier", True)


def question(**more: Any) -> Question:
    return Question("shop", "place_order", "Place [red]an order[/red]", SPEND, {"item": "a"}, **more)


def terminal(said: str | BaseException, attached: bool = True) -> tuple[Terminal, io.StringIO]:
    def read() -> str:
        if isinstance(said, BaseException):
            raise said
        return said

    screen = io.StringIO()
    return Terminal(Console(file=screen, width=100), read, lambda: attached), screen


@pytest.mark.parametrize(
    ("said", "action"),
    [("y", "accept"), (" YES ", "accept"), ("n", "decline"), ("no", "decline"), ("", "cancel"), ("maybe", "cancel")],
)
async def test_only_a_clear_yes_is_one(said: str, action: str) -> None:
    asker, screen = terminal(said)
    assert (await asker(question(price="240 credits"))).action == action
    shown = screen.getvalue()
    assert "Price: 240 credits" in shown
    assert "[red]an order[/red]" in shown
    assert 'item: "a"' in shown


async def test_a_yes_for_an_hour_is_for_the_very_same_arguments() -> None:
    asker, screen = terminal("h")
    answer = await asker(question())
    assert answer.remember is not None
    assert (answer.action, answer.remember.seconds) == ("accept", 3600)
    assert answer.remember.covers({"item": "a"})
    assert not answer.remember.covers({"item": "b"})
    assert "[h]our" in screen.getvalue()


@pytest.mark.parametrize("asked", [question(words="Sure?"), Question("shop", "wipe", "Wipe", SPEND)])
async def test_what_cannot_be_remembered_is_not_offered(asked: Question) -> None:
    asker, screen = terminal("h")
    assert (await asker(asked)).action == "cancel"
    assert "[h]our" not in screen.getvalue()


async def test_a_closed_terminal_is_no_answer() -> None:
    asker, _ = terminal(EOFError())
    assert (await asker(question())).action == "cancel"


async def test_without_a_terminal_nobody_is_there() -> None:
    asker, screen = terminal("y", attached=False)
    assert (await asker(question())).action == "cancel"
    assert screen.getvalue() == ""


async def test_a_form_is_declined_at_the_terminal() -> None:
    asker, _ = terminal("y")
    assert (await asker(question(words="Which month?", schema={"month": {}}))).action == "decline"


async def test_nobody_never_agrees() -> None:
    assert (await refuse(question())).action == "cancel"


@pytest.mark.parametrize(
    ("by", "action"), [("user", "accept"), ("approver", "accept"), ("host", "cancel"), (None, "cancel")]
)
async def test_only_what_a_contract_has_asked_elsewhere_is_left_to_the_server(by: Any, action: str) -> None:
    standing = ToolPolicy(Tier.EXTERNAL_SPEND, Risk.CRITICAL, True, "contract", True, contract={"confirmation": by})
    asked = Question("shop", "place_order", "Place", standing)
    assert (await leave_to_server(asked)).action == action


@pytest.mark.parametrize("said", [None, 1, "yes", "ok", object(), {"action": "accept"}, Answer("yes")])  # type: ignore[arg-type]
def test_what_is_no_clear_answer_closes_the_question(said: Any) -> None:
    assert as_answer(said).action == "cancel"


async def test_padding_makes_no_line_of_its_own() -> None:
    shown = io.StringIO()
    note = "x" + " " * 60 + "Price: 0 EUR" + " " * 60 + "Arguments, as sent:"
    asked = Question("shop", "erase", "Look (look) — read, low risk" + " " * 70, SPEND, {"note": note})
    await Terminal(Console(file=shown, width=60), read=lambda: "n", attached=lambda: True)(asked)
    lines = [line.strip("│").removeprefix(" ").rstrip() for line in shown.getvalue().splitlines()]
    assert not any(line.startswith("Price:") for line in lines)
    assert [line for line in lines if line.startswith("Arguments,")] == ["Arguments, as sent:"]
    assert not any(line.endswith("low risk") for line in lines)


async def test_whoever_walked_away_leaves_the_next_question_its_first_line() -> None:
    lines: SimpleQueue[str] = SimpleQueue()
    terminal = Terminal(Console(file=io.StringIO()), read=lines.get, attached=lambda: True)
    asked = Question("shop", "erase", "Erase", SPEND, {"id": 1})
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await terminal(asked)
    again = asyncio.create_task(terminal(asked))
    await asyncio.sleep(0)
    lines.put("y")
    assert (await again).action == "accept"


async def test_a_line_ended_between_two_questions_answers_neither() -> None:
    lines: SimpleQueue[str] = SimpleQueue()
    terminal = Terminal(Console(file=io.StringIO()), read=lines.get, attached=lambda: True)
    asked = Question("shop", "erase", "Erase", SPEND, {"id": 1})
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await terminal(asked)
    lines.put("y")
    assert terminal._reader is not None
    await terminal._reader
    lines.put("n")
    assert (await terminal(asked)).action == "decline"


@pytest.mark.parametrize(("said", "told"), [("yes", True), (Answer("ok"), True), ("cancel", False), (None, False)])  # type: ignore[arg-type]
def test_a_reply_that_means_nothing_is_reported_to_the_author(
    said: object, told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    assert as_answer(said).action == "cancel"
    assert ("reply accept, decline or cancel" in caplog.text) is told
