"""Who may say how a claim in doubt ended, and what do retries hear then?"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest

from assent.core.call import Call
from assent.core.claims import State, claim_id
from assent.core.outcome import Answer, Refusal
from assent.core.principal import Principal
from assent.core.quotas import SpendBudget
from assent.pipeline.settle import settle
from assent.ports import NotReached, NotRun, OutcomeUnknown, ToolFailed
from assent.testing.world import AGENT, FakeUpstream, World

OPERATOR = Principal("olga", "human", roles=frozenset({"operator"}))
NAME = claim_id(AGENT.tenant, AGENT.id, "send", "key", "k")


class Pausing(FakeUpstream):
    """An upstream whose effects take the time they are told to."""

    def __init__(self, effect: Callable[[], Awaitable[dict[str, Any]]]) -> None:
        super().__init__({"look": lambda _: {"status": "unknown"}})
        self._effect = effect

    async def run(self, call: Call, key: str | None) -> dict[str, Any]:
        return await self._effect()


def world(recovery: str = "none", **functions: Any) -> World:
    fields: dict[str, Any] = {"side_effect": "write", "idempotency": {"recovery": recovery}}
    return World({"send": fields}, {"send": lambda _: OutcomeUnknown("gone"), **functions})


async def doubted() -> World:
    there = world()
    outcome = await there.call("send", {}, key="k")
    assert isinstance(outcome, Refusal) and outcome.code == "execute.in_doubt"
    return there


async def heard(there: World) -> Any:
    outcome = await there.call("send", {}, key="k")
    return outcome.code if isinstance(outcome, Refusal) else outcome.on_wire()


async def test_done_answers_retries_with_the_result_that_was_found() -> None:
    there = await doubted()
    assert await heard(there) == "recall.in_doubt"
    found = {"content": [], "structuredContent": {"id": 7}}
    record = await settle(OPERATOR, NAME, "done", there.ports, found)
    assert record.state is State.SUCCEEDED
    assert (await heard(there))["structuredContent"] == {"id": 7}
    assert len(there.upstream.effects) == 1


async def test_a_declared_secret_in_what_was_found_is_not_kept() -> None:
    there = world()
    there.deploy({"send": {"side_effect": "write", "secrets": ["/link"]}})
    await there.call("send", {}, key="k")
    found = {"content": [{"type": "text", "text": "canary"}], "structuredContent": {"id": 7, "link": "canary"}}
    record = await settle(OPERATOR, NAME, "done", there.ports, found, no_secrets=True)
    assert b"canary" not in (record.result or b"canary")
    assert (await heard(there))["structuredContent"] == {"id": 7, "link": ""}


async def test_a_tool_that_is_gone_leaves_no_result_to_keep_and_nothing_is_changed() -> None:
    there = await doubted()
    before = await there.store.claim_by_id(NAME)
    there.deploy({})
    with pytest.raises(Refusal) as refused:
        await settle(OPERATOR, NAME, "done", there.ports, {"content": [], "structuredContent": {"link": "canary"}})
    assert refused.value.code == "settle.secrets_unknown"
    assert await there.store.claim_by_id(NAME) == before
    assert (await settle(OPERATOR, NAME, "done", there.ports)).state is State.SUCCEEDED


async def test_done_without_a_result_says_that_the_answer_was_lost() -> None:
    there = await doubted()
    await settle(OPERATOR, NAME, "done", there.ports)
    assert "as an operator found" in (await heard(there))["content"][0]["text"]


async def test_not_done_lets_the_same_key_run_again() -> None:
    there = await doubted()
    record = await settle(OPERATOR, NAME, "not-done", there.ports)
    assert record.state is State.FAILED_NO_EFFECT
    there.upstream.functions["send"] = lambda _: {"id": 8}
    outcome = await there.call("send", {}, key="k")
    assert isinstance(outcome, Answer) and not outcome.replayed
    assert len(there.upstream.effects) == 2


async def test_what_was_not_done_is_not_answered_as_done_where_the_clock_is_behind() -> None:
    there = await doubted()
    await settle(OPERATOR, NAME, "not-done", there.ports)
    there.upstream.functions["send"] = lambda _: {"id": 8}
    there.clock.advance(-7200)
    outcome = await there.call("send", {}, key="k")
    assert isinstance(outcome, Answer) and not outcome.replayed
    assert outcome.result["structuredContent"] == {"id": 8}


async def test_failed_answers_retries_with_a_failure() -> None:
    there = await doubted()
    await settle(OPERATOR, NAME, "failed", there.ports)
    said = await heard(there)
    assert said["isError"] is True and said["structuredContent"]["code"] == "execute.failed"


async def test_a_settlement_names_its_operator_beside_the_facts() -> None:
    there = await doubted()
    await settle(OPERATOR, NAME, "done", there.ports)
    last = (await there.store.entries())[-1].entry
    assert last.kind == "operator"
    assert last.facts["state"] == "succeeded" and last.facts["claim"] == NAME
    assert last.values["principal"] == "olga"


@pytest.mark.parametrize(
    "person",
    [
        Principal("ann", "human", roles=frozenset({"approver"})),
        Principal("bot", "agent", roles=frozenset({"operator"})),
        Principal("olga", "human", roles=frozenset({"operator"}), actors=(Principal("bot", "agent"),)),
    ],
)
async def test_only_an_operator_who_is_a_person_settles(person: Principal) -> None:
    there = await doubted()
    with pytest.raises(Refusal) as refused:
        await settle(person, NAME, "done", there.ports)
    assert refused.value.code == "settle.not_entitled"


async def test_what_is_not_in_doubt_is_not_settled() -> None:
    there = await doubted()
    with pytest.raises(Refusal) as unknown:
        await settle(OPERATOR, "nothing", "done", there.ports)
    await settle(OPERATOR, NAME, "done", there.ports)
    with pytest.raises(Refusal) as again:
        await settle(OPERATOR, NAME, "not-done", there.ports)
    assert (unknown.value.code, again.value.code) == ("settle.unknown", "settle.not_in_doubt")


async def test_every_refused_attempt_to_settle_is_written_down_with_who_tried_what() -> None:
    there = await doubted()
    tries = [
        (Principal("bot", "agent", roles=frozenset({"operator"})), NAME, "done"),
        (OPERATOR, "no such claim", "failed"),
        (OPERATOR, NAME, "done"),
        (OPERATOR, NAME, "not-done"),
    ]
    for person, name, finding in tries:
        with suppress(Refusal):
            await settle(person, name, finding, there.ports)  # type: ignore[arg-type]
    denials = [one.entry for one in await there.store.entries() if one.entry.kind == "denial"]
    assert [entry.facts for entry in denials] == [
        {"action": "settle", "code": f"settle.{reason}"} for reason in ("not_entitled", "unknown", "not_in_doubt")
    ]
    told = [(entry.values["principal"], entry.values["claim"], entry.values["finding"]) for entry in denials]
    assert told == [("bot", NAME, "done"), ("olga", "no such claim", "failed"), ("olga", NAME, "not-done")]


async def test_an_owner_who_comes_back_after_the_settlement_is_refused() -> None:
    there = world(send=lambda _: {"id": 1})

    async def paused() -> dict[str, Any]:
        there.clock.advance(3600)
        await settle(OPERATOR, NAME, "not-done", there.ports)
        return {"content": [], "structuredContent": {"id": 1}}

    there.but(upstream=Pausing(paused))
    outcome = await there.call("send", {}, key="k")
    assert isinstance(outcome, Refusal) and outcome.code == "execute.in_doubt"
    record = await there.store.claim_by_id(NAME)
    assert record is not None and record.state is State.FAILED_NO_EFFECT


@pytest.mark.parametrize("recovery", ["none", "reconcile"])
async def test_once_a_retry_was_told_of_the_doubt_the_late_owner_is_fenced(recovery: str) -> None:
    idempotency: dict[str, Any] = {"recovery": recovery}
    if recovery == "reconcile":
        idempotency["lookup"] = {"tool": "look", "by": []}
    fields = {"side_effect": "write", "idempotency": idempotency}
    there = World({"send": fields, "look": {"side_effect": "read"}}, {"look": lambda _: {"status": "unknown"}})
    told = []

    async def paused() -> dict[str, Any]:
        there.clock.advance(3600)
        told.append(await heard(there))
        told.append(await heard(there))
        return {"content": [], "structuredContent": {"id": 1}}

    there.but(upstream=Pausing(paused))
    outcome = await there.call("send", {}, key="k")
    assert told == ["recall.in_doubt"] * 2
    assert isinstance(outcome, Refusal) and outcome.code == "execute.in_doubt"
    record = await there.store.claim_by_id(NAME)
    assert record is not None and (record.state, record.epoch) == (State.IN_DOUBT, 2)


async def test_a_late_owner_whom_nobody_asked_for_may_still_say_what_happened() -> None:
    there = world()

    async def paused() -> dict[str, Any]:
        there.clock.advance(3600)
        return {"content": [], "structuredContent": {"id": 1}}

    there.but(upstream=Pausing(paused))
    assert isinstance(await there.call("send", {}, key="k"), Answer)
    assert (await heard(there))["structuredContent"] == {"id": 1}


AGAIN: list[tuple[str, Exception]] = [
    (recovery, end) for recovery in ("keyed", "natural") for end in (NotReached("down"), NotRun("bad arguments"))
]


@pytest.mark.parametrize(("recovery", "end"), AGAIN)
async def test_a_second_run_that_reaches_nothing_does_not_end_the_doubt_about_the_first(
    recovery: str, end: Exception
) -> None:
    idempotency = {"recovery": recovery} | ({"forward": "meta"} if recovery == "keyed" else {})
    there = World(
        {"send": {"side_effect": "write", "idempotency": idempotency}}, {"send": lambda _: OutcomeUnknown("gone")}
    )
    there.but(budgets=(SpendBudget(amount=Decimal(1), per="1d"),))
    assert await heard(there) == "execute.in_doubt"
    there.upstream.functions["send"] = lambda _: end
    assert await heard(there) == "execute.in_doubt"
    record = await there.store.claim_by_id(NAME)
    assert record is not None and record.state is State.IN_DOUBT and record.charges
    outcome = await there.call("send", {}, key="another")
    assert isinstance(outcome, Refusal) and outcome.code == "claim.budget_exceeded"
    there.upstream.functions["send"] = lambda _: {"id": 1}
    assert (await heard(there))["structuredContent"] == {"id": 1}


async def test_what_a_second_run_finds_done_already_is_not_given_back() -> None:
    """Deleting twice: the second time there is nothing left to delete, because the first did."""
    fields = {
        "side_effect": "write",
        "idempotency": {"recovery": "natural"},
        "failure_modes": {"not_found": {"class": "no_effect"}},
    }
    there = World({"send": fields}, {"send": lambda _: OutcomeUnknown("gone")})
    there.but(budgets=(SpendBudget(amount=Decimal(1), per="1d"),))
    assert await heard(there) == "execute.in_doubt"
    there.upstream.functions["send"] = lambda _: ToolFailed("not_found")
    assert (await heard(there))["isError"]
    record = await there.store.claim_by_id(NAME)
    assert record is not None and record.state is State.FAILED and record.charges


async def test_past_its_retention_a_key_answers_that_it_was_used_and_is_never_run_again() -> None:
    there = world(send=lambda _: {"id": 1})
    await there.call("send", {}, key="k")
    there.clock.advance(31 * 86400)
    assert await heard(there) == "recall.expired"
    await there.store.prune(there.clock(), there.clock() - 86400)
    record = await there.store.claim_by_id(NAME)
    assert record is not None and record.result is None
    assert await heard(there) == "recall.expired"
    assert len(there.upstream.effects) == 1


async def test_an_answer_that_is_gone_stays_gone_where_the_clock_is_behind() -> None:
    there = world(send=lambda _: {"id": 1})
    await there.call("send", {}, key="k")
    there.clock.advance(31 * 86400)
    await there.store.prune(there.clock(), there.clock() - 86400)
    there.clock.advance(-2 * 86400)
    assert await heard(there) == "recall.expired"
    assert len(there.upstream.effects) == 1


async def test_a_doubt_outlasts_every_retention() -> None:
    there = await doubted()
    there.clock.advance(10 * 365 * 86400)
    await there.store.prune(there.clock(), there.clock())
    assert await heard(there) == "recall.in_doubt"
