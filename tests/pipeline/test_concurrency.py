"""What becomes of one effect when many want it, or when whoever wanted it leaves?"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from assent.core.call import Request, Resume, UserAnswer
from assent.core.claims import State
from assent.core.outcome import Answer, Outcome, Pause, Refusal
from assent.core.principal import Principal
from assent.pipeline.approve import approve
from assent.pipeline.govern import govern
from assent.pipeline.leased_effects import EffectRunner
from assent.ports import NotReached, NotRun
from assent.stores.memory import MemoryStore
from assent.testing import AGENT, ANN, World

NOTE = {"note": {"side_effect": "write"}}
MANY = 200


class Gate:
    """A place that a tool or a store waits at, until it is opened."""

    def __init__(self) -> None:
        self.reached, self.opened = asyncio.Event(), asyncio.Event()

    async def pass_through(self) -> None:
        self.reached.set()
        await self.opened.wait()


class Watched(MemoryStore):
    """A store that stops at the operations it is told to."""

    def __init__(self, **gates: Gate) -> None:
        super().__init__()
        self.gates = gates

    async def claim_by_id(self, claim_id: str) -> Any:
        await self._at("recall")
        return await super().claim_by_id(claim_id)

    async def claim(self, *args: Any) -> Any:
        await self._at("claim")
        return await super().claim(*args)

    async def retake(self, *args: Any) -> Any:
        taken = await super().retake(*args)
        await self._at("retake")
        return taken

    async def wait_until_ended(self, *args: Any) -> Any:
        if "ended" in self.gates:
            self.gates["ended"].reached.set()
        return await super().wait_until_ended(*args)

    async def _at(self, operation: str) -> None:
        if operation in self.gates:
            await self.gates[operation].pass_through()


def hanging(world: World, gate: Gate, tool: str = "note") -> None:
    """Let every call of a tool wait at a gate, after its effect."""

    async def effect(arguments: dict[str, Any]) -> Any:
        number = len(world.upstream.effects)
        await gate.pass_through()
        return {"number": number}

    world.upstream.functions[tool] = effect


def codes(outcomes: list[Outcome]) -> Counter[str]:
    return Counter("answer" if isinstance(one, Answer) else one.code for one in outcomes)


async def test_a_caller_who_leaves_before_the_claim_has_cancelled() -> None:
    gate = Gate()
    world = World(NOTE, store=Watched(recall=gate))
    calling = asyncio.create_task(world.call("note", key="k"))
    await gate.reached.wait()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    gate.opened.set()
    await world.work.drain(10)
    assert world.upstream.effects == []
    assert await world.store.claims() == []


async def test_a_caller_who_leaves_while_the_claim_is_written_does_not_stop_the_effect() -> None:
    gate = Gate()
    world = World(NOTE, store=Watched(claim=gate))
    calling = asyncio.create_task(world.call("note", key="k"))
    await gate.reached.wait()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    gate.opened.set()
    assert await world.work.drain(10) == 0
    assert len(world.upstream.effects) == 1
    retry = await world.call("note", key="k")
    assert isinstance(retry, Answer)
    assert retry.replayed


async def test_when_a_caller_leaves_the_effect_runs_on_and_the_retry_replays() -> None:
    world, gate = World(NOTE), Gate()
    hanging(world, gate)
    calling = asyncio.create_task(world.call("note", key="k"))
    await gate.reached.wait()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    gate.opened.set()
    assert await world.work.drain(10) == 0
    retry = await world.call("note", key="k")
    assert isinstance(retry, Answer)
    assert (retry.replayed, retry.result["structuredContent"]) == (True, {"number": 1})
    assert len(world.upstream.effects) == 1


async def test_a_caller_who_leaves_a_read_stops_it() -> None:
    world, gate = World({"look": {"side_effect": "read"}}), Gate()
    hanging(world, gate, "look")
    calling = asyncio.create_task(world.call("look"))
    await gate.reached.wait()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert await world.work.drain(10) == 0


async def test_a_second_call_with_the_same_key_waits_for_the_first_and_gets_its_answer() -> None:
    gate, waiting = Gate(), Gate()
    world = World(NOTE, store=Watched(ended=waiting))
    world.but(attach=60.0)
    hanging(world, gate)
    first = asyncio.create_task(world.call("note", key="k"))
    await gate.reached.wait()
    second = asyncio.create_task(world.call("note", key="k"))
    await waiting.reached.wait()
    gate.opened.set()
    one, two = await first, await second
    assert isinstance(one, Answer)
    assert isinstance(two, Answer)
    assert one.result == two.result
    assert (one.replayed, two.replayed) == (False, True)
    assert len(world.upstream.effects) == 1


async def test_of_two_that_come_at_once_one_runs_and_both_get_its_answer() -> None:
    world = World(NOTE)
    world.but(attach=60.0)
    one, two = await asyncio.gather(world.call("note", key="k"), world.call("note", key="k"))
    assert isinstance(one, Answer)
    assert isinstance(two, Answer)
    assert one.result == two.result
    assert len(world.upstream.effects) == 1


async def test_of_two_at_once_with_other_arguments_one_is_told_of_the_mismatch() -> None:
    world = World(NOTE)
    world.but(attach=60.0)
    both = await asyncio.gather(world.call("note", {"a": 1}, key="k"), world.call("note", {"a": 2}, key="k"))
    assert codes(list(both)) == {"answer": 1, "recall.key_mismatch": 1}
    assert len(world.upstream.effects) == 1


async def test_who_waited_in_vain_is_told_when_to_come_again() -> None:
    world, gate = World(NOTE), Gate()
    hanging(world, gate)
    first = asyncio.create_task(world.call("note", key="k"))
    await gate.reached.wait()
    second = await world.call("note", key="k")
    assert isinstance(second, Refusal)
    assert (second.code, second.facts) == ("recall.in_flight", {"retry_after_ms": 1000})
    gate.opened.set()
    assert isinstance(await first, Answer)


async def test_who_waits_for_a_call_that_was_never_reached_may_call_again() -> None:
    world, gate = World(NOTE), Gate()

    async def unreached(arguments: dict[str, Any]) -> Any:
        await gate.pass_through()
        return NotReached()

    world.upstream.functions["note"] = unreached
    world.but(attach=60.0)
    both = [asyncio.create_task(world.call("note", key="k")) for _ in range(2)]
    await gate.reached.wait()
    gate.opened.set()
    assert set(codes([await one for one in both])) <= {"execute.unavailable", "recall.in_flight"}
    world.upstream.functions.clear()
    assert isinstance(await world.call("note", key="k"), Answer)


@pytest.mark.parametrize("attach", [0.0, 60.0])
async def test_many_callers_with_one_key_cause_one_effect(attach: float) -> None:
    world = World(NOTE)

    async def effect(arguments: dict[str, Any]) -> Any:
        for _ in range(5):
            await asyncio.sleep(0)
        return {"number": len(world.upstream.effects)}

    world.upstream.functions["note"] = effect
    world.but(attach=attach)
    outcomes = await asyncio.gather(*(world.call("note", {"a": 1}, key="k") for _ in range(MANY)))
    answers = [one.result for one in outcomes if isinstance(one, Answer)]
    assert len(world.upstream.effects) == 1
    assert answers
    assert all(answer == answers[0] for answer in answers)
    assert set(codes(list(outcomes))) <= {"answer", "recall.in_flight"}
    assert attach == 0.0 or len(answers) == MANY


@pytest.mark.parametrize("keyed", [False, True])
async def test_one_approval_wanted_by_many_is_used_once(keyed: bool) -> None:
    world = World({"wipe": {"side_effect": "destructive", "confirmation": {"by": "approver"}}})
    await world.call("wipe")
    [asked] = await world.store.approvals()
    await approve(ANN, asked.id, "approve", world.ports)
    outcomes = await asyncio.gather(*(world.call("wipe", key=f"k{n}" if keyed else None) for n in range(MANY)))
    assert len(world.upstream.effects) == 1
    told = codes(list(outcomes))
    assert told["answer"] == 1
    assert set(told) <= {"answer", "claim.approval_used", "confirm.approval_pending"}
    assert len([one for one in await world.store.claims(limit=1000) if one.state is State.SUCCEEDED]) == 1


async def test_many_answers_of_the_client_to_one_question_cause_one_effect() -> None:
    world = World({"wipe": {"side_effect": "destructive"}})
    pause = await world.call("wipe", can_ask=True)
    assert isinstance(pause, Pause)
    request = Request("wipe", None, AGENT, reply=UserAnswer(pause.approval.id, "accept"), can_ask=True)
    outcomes = await asyncio.gather(*(govern(request, world.ports) for _ in range(MANY)))
    assert len(world.upstream.effects) == 1
    assert codes(list(outcomes))["answer"] == 1


async def test_many_approvers_at_once_decide_once_each_and_no_more_than_needed() -> None:
    world = World({"wipe": {"side_effect": "destructive", "confirmation": {"by": "approver", "quorum": 3}}})
    await world.call("wipe")
    [asked] = await world.store.approvals()
    people = [Principal(f"person-{n % 10}", "human", roles=frozenset({"approver"})) for n in range(50)]

    async def decide(person: Principal) -> str:
        try:
            return (await approve(person, asked.id, "approve", world.ports)).id
        except Refusal as refusal:
            return refusal.code

    said = Counter(await asyncio.gather(*(decide(person) for person in people)))
    assert said == {asked.id: 3, "approve.already_decided": 47}
    decided = await world.store.approval(asked.id)
    assert decided is not None
    assert len({decision.person for decision in decided.decisions}) == 3


async def test_a_late_owner_is_fenced_by_whoever_took_its_claim_over() -> None:
    world, gate = World({"note": {"side_effect": "write", "idempotency": {"recovery": "keyed"}}}), Gate()
    hanging(world, gate)
    first = asyncio.create_task(world.call("note", key="k"))
    await gate.reached.wait()
    world.clock.advance(15)
    world.upstream.functions["note"] = lambda _: {"number": "taken over"}
    second = await world.call("note", key="k")
    assert isinstance(second, Answer)
    gate.opened.set()
    late = await first
    assert isinstance(late, Refusal)
    assert late.code == "execute.in_doubt"
    retry = await world.call("note", key="k")
    assert isinstance(retry, Answer)
    assert retry.result["structuredContent"] == {"number": "taken over"}
    keys = {key for _, _, key in world.upstream.effects}
    assert len(keys) == 1
    assert None not in keys
    outcomes = [one.entry.facts["state"] for one in await world.store.entries() if one.entry.kind == "outcome"]
    assert outcomes == ["succeeded"]


async def test_a_late_owner_is_fenced_once_somebody_was_told_of_the_doubt() -> None:
    world, gate = World(NOTE), Gate()
    hanging(world, gate)
    first = asyncio.create_task(world.call("note", key="k"))
    await gate.reached.wait()
    world.clock.advance(15)
    doubt = await world.call("note", key="k")
    assert isinstance(doubt, Refusal)
    assert doubt.code == "recall.in_doubt"
    gate.opened.set()
    late = await first
    assert isinstance(late, Refusal)
    assert late.code == "execute.in_doubt"
    retry = await world.call("note", key="k")
    assert isinstance(retry, Refusal)
    assert retry.code == "recall.in_doubt"
    assert len(world.upstream.effects) == 1


async def test_of_many_who_would_recover_a_claim_one_does() -> None:
    world = World({"note": {"side_effect": "write", "idempotency": {"recovery": "keyed"}}})
    world.upstream.functions["note"] = lambda _: ConnectionError("lost")
    await world.call("note", key="k")
    world.upstream.functions.clear()
    world.but(attach=60.0)
    outcomes = await asyncio.gather(*(world.call("note", key="k") for _ in range(MANY)))
    assert len(world.upstream.effects) == 2
    assert set(codes(list(outcomes))) <= {"answer", "recall.in_flight"}


async def test_what_is_cut_off_at_the_end_of_the_process_is_in_doubt_at_once() -> None:
    world, gate = World(NOTE), Gate()
    hanging(world, gate)
    calling = asyncio.create_task(world.call("note", key="k"))
    await gate.reached.wait()
    assert await world.work.drain(0) == 1
    with pytest.raises(asyncio.CancelledError):
        await calling
    [claim] = await world.store.claims()
    assert claim.state is State.IN_DOUBT
    after = await world.call("note", key="k")
    assert isinstance(after, Refusal)
    assert after.code == "recall.in_doubt"


async def test_while_an_effect_runs_its_lease_is_kept_alive() -> None:
    extended = asyncio.Event()

    class Beating(MemoryStore):
        async def extend(self, leases: Any, lease_until: float) -> None:
            await super().extend(leases, lease_until)
            extended.set()

    gate = Gate()
    world = World(NOTE, store=Beating())
    world.work = EffectRunner(world.store, world.clock, lease=0.003)
    world.but(work=world.work)
    hanging(world, gate)
    calling = asyncio.create_task(world.call("note", key="k"))
    await gate.reached.wait()
    world.clock.advance(14)
    await extended.wait()
    [claim] = await world.store.claims()
    assert claim.lease_until == world.clock() + 0.003
    gate.opened.set()
    assert isinstance(await calling, Answer)
    await world.work.drain(0)


QUESTION = {"resultType": "input_required", "inputRequests": {"q": {}}, "requestState": "the tool's own"}


async def suspended(world: World, by: Principal) -> Resume:
    """A call whose tool has asked a question of its own."""
    answers: list[Any] = [QUESTION, {"done": True}]
    world.upstream.functions["note"] = lambda _: answers.pop(0) if len(answers) > 1 else answers[0]
    asked = await world.call("note", {"a": 1}, key="k", by=by)
    assert isinstance(asked, Answer)
    assert asked.resume is not None
    assert asked.result == QUESTION
    return asked.resume


ME = Principal("me", "agent", scopes=frozenset({"*"}), asks="person")


def resuming(resume: Resume, arguments: Any = None, by: Principal = ME) -> Request:
    return Request("note", arguments or {"a": 1}, by, ("k",), resume=resume)


async def test_a_tools_own_question_suspends_the_claim_and_its_answer_resumes_it() -> None:
    world = World(NOTE)
    resume = await suspended(world, ME)
    meanwhile = await world.call("note", {"a": 1}, key="k", by=ME)
    assert isinstance(meanwhile, Refusal)
    assert meanwhile.code == "recall.in_flight"
    ended = await govern(resuming(resume), world.ports)
    assert isinstance(ended, Answer)
    assert ended.result["structuredContent"] == {"done": True}
    [claim] = await world.store.claims()
    assert (claim.state, claim.epoch) == (State.SUCCEEDED, 2)


async def test_a_resumed_call_whose_answer_was_lost_replays() -> None:
    world = World(NOTE)
    resume = await suspended(world, ME)
    await govern(resuming(resume), world.ports)
    again = await govern(resuming(resume), world.ports)
    assert isinstance(again, Answer)
    assert again.replayed
    assert len(world.upstream.effects) == 2


@pytest.mark.parametrize("end", [NotReached("gone"), NotRun("that question is over")])
async def test_a_suspended_call_whose_upstream_is_gone_is_in_doubt_for_it_had_begun(end: Exception) -> None:
    world = World(NOTE)
    resume = await suspended(world, ME)
    world.upstream.functions["note"] = lambda _: end
    ended = await govern(resuming(resume), world.ports)
    assert isinstance(ended, Refusal)
    assert ended.code == "execute.in_doubt"
    [claim] = await world.store.claims()
    assert claim.state is State.IN_DOUBT


async def test_a_suspended_claim_is_resumed_by_one_of_many() -> None:
    world = World(NOTE)
    resume = await suspended(world, ME)
    world.but(attach=60.0)
    outcomes = await asyncio.gather(*(govern(resuming(resume), world.ports) for _ in range(MANY)))
    assert len(world.upstream.effects) == 2
    assert codes(list(outcomes))["answer"] >= 1
    assert set(codes(list(outcomes))) <= {"answer", "recall.in_flight"}


async def test_nobody_else_and_no_other_call_resumes_a_claim() -> None:
    world = World(NOTE)
    resume = await suspended(world, ME)
    other = Principal("other", "agent", scopes=frozenset({"*"}))
    forged = [
        resuming(resume, by=other),
        resuming(resume, {"a": 2}),
        resuming(Resume("no-such-claim", 1)),
    ]
    for request in forged:
        outcome = await govern(request, world.ports)
        assert isinstance(outcome, Refusal)
        assert outcome.code == "recall.key_mismatch"
    stale = await govern(resuming(Resume(resume.claim, resume.epoch + 1)), world.ports)
    assert isinstance(stale, Refusal)
    assert stale.code == "recall.in_flight"
    assert len(world.upstream.effects) == 1


async def test_a_question_nobody_answers_leaves_a_doubt() -> None:
    world = World(NOTE)
    resume = await suspended(world, ME)
    world.clock.advance(599)
    [claim] = await world.store.claims()
    assert claim.state_at(world.clock()) is State.SUSPENDED
    world.clock.advance(1)
    late = await govern(resuming(resume), world.ports)
    assert isinstance(late, Refusal)
    assert late.code == "recall.in_doubt"
    assert len(world.upstream.effects) == 1


@pytest.mark.parametrize("recovery", ["keyed", "resumed"])
async def test_a_caller_who_leaves_while_a_claim_is_taken_over_does_not_stop_what_was_taken_over(recovery: str) -> None:
    gate = Gate()
    world = World({"note": {"side_effect": "write", "idempotency": {"recovery": "keyed"}}}, store=Watched(retake=gate))
    request = Request("note", {"a": 1}, ME, ("k",))
    if recovery == "resumed":
        world.deploy(NOTE)
        request = resuming(await suspended(world, ME))
    else:
        world.upstream.functions["note"] = lambda _: ConnectionError("lost")
        await govern(request, world.ports)
        world.upstream.functions.clear()
    calling = asyncio.create_task(govern(request, world.ports))
    await gate.reached.wait()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    gate.opened.set()
    assert await world.work.drain(10) == 0
    assert len(world.upstream.effects) == 2
    [claim] = await world.store.claims()
    assert claim.state is State.SUCCEEDED


async def test_an_approved_read_whose_tool_asks_goes_on_with_the_answer_and_nobody_is_asked_again() -> None:
    world = World({"note": {"side_effect": "read", "risk": "high"}})
    pause = await world.call("note", {"a": 1}, by=ME, can_ask=True)
    assert isinstance(pause, Pause)
    answers: list[Any] = [QUESTION, {"done": True}]
    world.upstream.functions["note"] = lambda _: answers.pop(0)
    asked = await world.call("note", {"a": 1}, by=ME, reply=UserAnswer(pause.approval.id, "accept"), can_ask=True)
    assert isinstance(asked, Answer)
    assert asked.resume is not None
    ended = await govern(Request("note", {"a": 1}, ME, resume=asked.resume, can_ask=True), world.ports)
    assert isinstance(ended, Answer)
    assert ended.result["structuredContent"] == {"done": True}
    [claim] = await world.store.claims()
    assert claim.state is State.SUCCEEDED
    assert len(await world.store.approvals()) == 1


async def test_a_rehearsal_does_not_go_on_with_a_call_that_had_begun() -> None:
    world = World({"note": {"side_effect": "write", "dry_run": {"mode": "offered"}}})
    resume = await suspended(world, ME)
    rehearsed = await govern(resuming(resume, {"a": 1, "dryRun": True}), world.ports)
    assert isinstance(rehearsed, Refusal)
    assert rehearsed.code == "recall.key_mismatch"
    assert (len(world.upstream.effects), world.upstream.previews) == (1, [])


async def test_what_a_natural_name_stands_for_is_made_anew_under_another_key_of_the_upstream() -> None:
    keyed = {"recovery": "keyed", "forward": "meta"}
    fields = {"side_effect": "write", "natural": {"by": ["a"], "until": "/until"}, "idempotency": keyed}
    world = World({"note": fields})
    world.but(derive_key=str)
    ends: list[Any] = [ConnectionError("lost"), {"until": world.clock() + 60}, {"until": world.clock() + 600}]
    world.upstream.functions["note"] = lambda _: ends.pop(0)
    for wait in (0, 0, 61):
        world.clock.advance(wait)
        await world.call("note", {"a": 1})
    lost, again, anew = (key for _, _, key in world.upstream.effects)
    assert lost == again
    assert again != anew
