"""How many sessions there may be, whose they are, and when they end."""

import asyncio
from itertools import count
from typing import Any

import pytest

from assent.gateway.sessions.table import SessionTable, TooManySessions
from assent.mcp.channel import CannotAsk
from assent.mcp.jsonrpc import RpcError
from assent.mcp.session import McpSession


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def table(clock: Clock | None = None, **limits: float) -> SessionTable:
    numbers = count(1)
    return SessionTable(clock or Clock(), lambda: f"s{next(numbers)}", **limits)  # type: ignore[arg-type]


async def test_a_session_is_found_by_its_owner_and_by_nobody_else() -> None:
    sessions = table()
    session = sessions.open("ann")
    assert sessions.find(session.id, "ann") is session
    assert sessions.find(session.id, "bob") is None
    assert sessions.find("s99", "ann") is None


async def test_the_table_is_bounded_in_all_and_per_owner() -> None:
    sessions = table(limit=3, per_owner=2)
    for _ in range(2):
        sessions.open("ann")
    with pytest.raises(TooManySessions):
        sessions.open("ann")
    sessions.open("bob")
    sessions.open("cyd")  # in the place of the caller who has the most
    assert sorted(str(session.owner) for session in sessions) == ["ann", "bob", "cyd"]
    with pytest.raises(TooManySessions):
        sessions.open("dan")


async def test_a_closed_session_makes_room() -> None:
    sessions = table(per_owner=1)
    sessions.close(sessions.open("ann"))
    assert sessions.open("ann").id == "s2"


async def test_an_idle_session_expires_and_a_used_one_does_not() -> None:
    clock = Clock()
    sessions = table(clock, idle=10.0)
    idle, used, busy = (sessions.open("ann") for _ in range(3))
    with sessions.using(busy):
        clock.now = 9.0
        assert sessions.find(used.id, "ann") is used
        clock.now = 11.0
        assert sessions.find(idle.id, "ann") is None
        assert sessions.find(used.id, "ann") is used
        clock.now = 30.0
        assert sessions.find(used.id, "ann") is None
        assert sessions.find(busy.id, "ann") is busy
    assert len(sessions) == 1


async def asked(
    session: McpSession, within: float = 60.0
) -> tuple[str, asyncio.Task[dict[str, Any]], asyncio.Queue[dict[str, Any]]]:
    """The id of a question that the client was just asked, its answer to come, and everything sent to the client."""
    session.capabilities, sent = {"elicitation": {}}, asyncio.Queue[dict[str, Any]]()
    answer = asyncio.create_task(session.ask("elicitation/create", {"message": "?"}, sent.put, within))
    question = await sent.get()
    return question["id"], answer, sent


async def test_an_answer_reaches_whoever_asked_and_only_once() -> None:
    session = table().open("ann")
    question, answer, _ = await asked(session)
    assert session.settle({"jsonrpc": "2.0", "id": question, "result": {"action": "accept"}})
    assert await answer == {"action": "accept"}
    assert not session.settle({"jsonrpc": "2.0", "id": question, "result": {}})
    assert not session.settle({"jsonrpc": "2.0", "id": "made-up", "result": {}})
    assert not session.settle({"jsonrpc": "2.0", "id": 7, "result": {}})


async def test_an_error_for_an_answer_is_raised_where_it_was_asked() -> None:
    session = table().open("ann")
    question, answer, _ = await asked(session)
    session.settle({"jsonrpc": "2.0", "id": question, "error": {"code": -1, "message": "no"}})
    with pytest.raises(RpcError, match="no"):
        await answer


async def test_ending_a_session_ends_its_questions_and_its_stream() -> None:
    sessions = table()
    session = sessions.open("ann")
    _, answer, _ = await asked(session)
    session.tell({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    sessions.close(session)
    assert await session.next_message() == b""
    with pytest.raises(CannotAsk):
        await answer


async def test_a_question_that_nobody_answers_in_time_is_taken_back() -> None:
    session = table().open("ann")
    question, answer, sent = await asked(session, within=0.0)
    with pytest.raises(CannotAsk):
        await answer
    cancelled = await sent.get()
    assert (cancelled["method"], cancelled["params"]["requestId"]) == ("notifications/cancelled", question)
    assert not session.settle({"jsonrpc": "2.0", "id": question, "result": {}}), "a late answer counts for nothing"


async def test_a_client_is_not_asked_what_it_did_not_say_it_can_answer() -> None:
    session, sent = table().open("ann"), asyncio.Queue[Any]()
    with pytest.raises(CannotAsk):
        await session.ask("sampling/createMessage", {}, sent.put, 60.0)
    assert sent.empty()


async def test_messages_nobody_reads_are_bounded() -> None:
    session = table().open("ann")
    for number in range(1000):
        session.tell({"n": number})
    assert await session.next_message() == b'{"n":744}'


async def test_a_session_that_ends_while_it_is_used_leaves_nothing_behind() -> None:
    sessions = table()
    for _ in range(3):
        session = sessions.open("ann")
        with sessions.using(session):
            sessions.close(session)
        with sessions.using(session):
            pass
    assert not sessions._busy


async def test_whoever_counts_as_the_same_caller_finds_the_session() -> None:
    sessions = SessionTable(Clock(), lambda: "s", who=lambda caller: caller[0])
    session = sessions.open(("ann", "reads"))
    assert sessions.find(session.id, ("ann", "writes")) is session
    assert sessions.find(session.id, ("bob", "reads")) is None
