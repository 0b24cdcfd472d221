"""Do two replicas on one PostgreSQL behave as one?"""

import asyncio
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import asyncpg
import pytest

from assent.core.call import UserAnswer
from assent.core.outcome import Answer, Pause, Refusal
from assent.core.quotas import RateLimit, SpendBudget
from assent.pipeline.approve import approve
from assent.stores import open_store
from assent.testing.world import ANN, World
from support.stores.postgres_server import drop_store, new_store_url, server_url

CONTRACTS: dict[str, Any] = {
    "wire": {
        "side_effect": "external_spend",
        "confirmation": {"by": "approver"},
        "cost": {"amount": "/amount", "currency": "EUR"},
    },
    "delete": {"side_effect": "destructive"},
    "send": {"side_effect": "write"},
    "look": {"side_effect": "read"},
}


@pytest.fixture
async def replicas() -> AsyncIterator[list[World]]:
    url = await new_store_url()
    stores = [await open_store(url) for _ in range(2)]
    worlds = [World(CONTRACTS, store=store) for store in stores]
    for number, world in enumerate(worlds):
        ids = iter(range(10_000))
        world.but(new_id=lambda number=number, ids=ids: f"{number}-{next(ids)}", attach=10.0)
    yield worlds
    for store in stores:
        await store.close()
    await drop_store(url)


async def test_an_approved_call_whose_answer_was_lost_replays_elsewhere_without_a_second_approval(
    replicas: list[World],
) -> None:
    here, there = replicas
    asked = await here.call("wire", {"amount": 5}, key="k")
    assert isinstance(asked, Refusal) and asked.code == "confirm.approval_pending"
    await approve(ANN, asked.facts["approval"], "approve", there.ports)
    first = await here.call("wire", {"amount": 5}, key="k")
    again = await there.call("wire", {"amount": 5}, key="k")
    assert isinstance(first, Answer) and isinstance(again, Answer)
    assert again.replayed and again.result == first.result
    assert len(here.upstream.effects) + len(there.upstream.effects) == 1
    assert len(await here.store.approvals()) == 1


async def test_an_approval_given_at_one_replica_lets_the_call_run_at_the_other(replicas: list[World]) -> None:
    here, there = replicas
    asked = await here.call("wire", {"amount": 5}, key="k")
    assert isinstance(asked, Refusal)
    waiting = asyncio.create_task(there.store.decided(asked.facts["approval"], 30))
    await approve(ANN, asked.facts["approval"], "approve", here.ports)
    assert (await waiting) is not None
    assert isinstance(await there.call("wire", {"amount": 5}, key="k"), Answer)


async def test_a_question_asked_at_one_replica_is_answered_at_the_other(replicas: list[World]) -> None:
    here, there = replicas
    paused = await here.call("delete", {}, key="k", can_ask=True)
    assert isinstance(paused, Pause)
    yes = UserAnswer(paused.approval.id, "accept")
    assert isinstance(await there.call("delete", {}, key="k", reply=yes, can_ask=True), Answer)
    again = await here.call("delete", {}, key="k", reply=yes, can_ask=True)
    assert isinstance(again, Answer) and again.replayed
    assert here.upstream.effects == []


async def test_a_question_that_waits_on_one_replicas_stream_can_be_decided_out_of_band(replicas: list[World]) -> None:
    here, there = replicas
    paused = await here.call("delete", {}, key="k", can_ask=True)
    assert isinstance(paused, Pause)
    await approve(ANN, paused.approval.id, "approve", there.ports)
    assert isinstance(await here.call("delete", {}, key="k", can_ask=True), Answer)


async def test_a_caller_at_one_replica_waits_for_the_same_key_at_the_other(replicas: list[World]) -> None:
    here, there = replicas
    begun, go = asyncio.Event(), asyncio.Event()

    async def slow() -> dict[str, int]:
        begun.set()
        await go.wait()
        return {"sent": 1}

    here.upstream.functions["send"] = lambda _: slow()
    first = asyncio.create_task(here.call("send", {}, key="k"))
    await begun.wait()
    second = asyncio.create_task(there.call("send", {}, key="k"))
    await asyncio.sleep(0)
    go.set()
    answers = [await first, await second]
    assert all(isinstance(answer, Answer) and answer.result["structuredContent"] == {"sent": 1} for answer in answers)
    assert there.upstream.effects == []


async def test_limits_and_budgets_hold_for_both_together(replicas: list[World]) -> None:
    for world in replicas:
        world.but(
            budgets=(SpendBudget(amount=Decimal(10), per="1d", match={"tool": "send"}),),
            limits=(RateLimit(calls=5, per="1h", match={"tool": "look"}),),
        )
    sends = [replicas[number % 2].call("send", {}) for number in range(30)]
    looks = [replicas[number % 2].call("look", {}) for number in range(30)]
    assert sum(isinstance(end, Answer) for end in await asyncio.gather(*sends)) == 10
    assert sum(isinstance(end, Answer) for end in await asyncio.gather(*looks)) == 5


async def test_nothing_of_the_database_is_held_while_tools_run(replicas: list[World]) -> None:
    here, _ = replicas
    running, go = asyncio.Semaphore(0), asyncio.Event()

    async def slow() -> dict[str, int]:
        running.release()
        await go.wait()
        return {"sent": 1}

    here.upstream.functions["send"] = lambda _: slow()
    calls = [asyncio.create_task(here.call("send", {}, key=f"{number}")) for number in range(200)]
    for _ in range(200):
        await running.acquire()
    connection = await asyncpg.connect(server_url())
    sessions = await connection.fetch("SELECT state FROM pg_stat_activity WHERE application_name = 'assent'")
    await connection.close()
    go.set()
    assert all(isinstance(end, Answer) for end in await asyncio.gather(*calls))
    assert {row["state"] for row in sessions} == {"idle"}
    assert len(sessions) <= 2 * 6
