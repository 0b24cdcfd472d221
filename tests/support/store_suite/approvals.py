"""Does a store let an approval be used as often as it was given, by those who gave it, in time?"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from assent.core.approval import Approval, ApprovalState, Decision
from assent.core.claims import ClaimRecord
from assent.core.shown_records import urgency_of
from assent.errors import StoreError
from assent.ports import ApprovalGone, ClaimExists, CoolingDown, Store, TooManyPending
from support.store_suite.drafts import NOW, OpenStore, approval_draft, approved, claim_draft, decision, entry, marks


class ApprovalPromises:
    """Promises about approvals and rehearsals."""

    async def test_a_question_is_kept_as_it_was_asked(self, store: Store) -> None:
        draft = approval_draft(text="A\u202eB 'quoted'\nline", facts={"n": 1, "nested": {"list": [1.5, None, "é"]}})
        assert await store.ask(draft, NOW, 20, entry("approval")) == draft
        assert await store.approval(draft.id) == draft
        assert await store.approval_for("binding", NOW) == draft
        assert await store.approval("unknown") is None
        assert await marks(store) == ["approval"]

    async def test_a_question_that_stands_is_not_asked_again(self, store: Store) -> None:
        first = await store.ask(approval_draft("first"), NOW, 20, entry("approval"))
        assert await store.ask(approval_draft("second"), NOW + 1, 20, entry("approval")) == first
        assert await store.approval("second") is None
        assert await marks(store) == ["approval"]

    async def test_many_who_ask_at_once_get_one_question(self, open_store: OpenStore) -> None:
        stores = [await open_store() for _ in range(2)]
        drafts = [approval_draft(f"draft {number}") for number in range(20)]
        asked = [stores[number % 2].ask(draft, NOW, 20, entry("approval")) for number, draft in enumerate(drafts)]
        assert len({approval.id for approval in await asyncio.gather(*asked)}) == 1
        assert await marks(stores[0]) == ["approval"]

    async def test_no_question_is_asked_about_a_call_whose_key_is_claimed(self, store: Store) -> None:
        """The approval may have been used up since the key was looked up: both are checked in one step."""
        await store.claim(claim_draft("taken"), entry("intent"), None, NOW)
        with pytest.raises(ClaimExists):
            await store.ask(approval_draft("first"), NOW, 20, entry("approval"), claim="taken")
        assert await store.approval("first") is None
        other = approval_draft("other")
        assert await store.ask(other, NOW, 20, entry("approval"), claim="free") == other
        assert await store.ask(approval_draft("again"), NOW, 20, entry("approval"), claim="taken") == other
        assert await marks(store) == ["intent", "approval"]

    async def test_a_clients_answer_is_kept_with_its_name_and_time(self, store: Store) -> None:
        asked = await store.ask(approval_draft(), NOW, 20, entry())
        said = Decision("client:agent", "too_fast", NOW, "in-band", client="cli", seconds=0.02, claimed=9.5)
        decided = await store.decide(asked.id, said, NOW, entry("decision"))
        assert decided is not None and decided.decisions == (said,)
        assert await store.approval(asked.id) == decided
        assert decided.state_at(NOW) is ApprovalState.PENDING
        assert decided.answered_too_fast == said

    async def test_an_unanswered_question_expires_on_the_second(self, store: Store) -> None:
        first = await store.ask(approval_draft("first"), NOW, 20, entry())
        assert await store.approval_for("binding", NOW + 59.999) == first
        assert await store.approval_for("binding", NOW + 60) is None
        second = approval_draft("second", asked_at=NOW + 60, expires_at=NOW + 120)
        assert await store.ask(second, NOW + 60, 20, entry()) == second

    async def test_no_decision_is_taken_from_the_second_a_question_expires(self, store: Store) -> None:
        asked = await store.ask(approval_draft(), NOW, 20, entry("approval"))
        assert await store.decide(asked.id, decision(at=NOW + 60), NOW + 60, entry("decision")) is None
        assert await store.decide(asked.id, decision(at=NOW + 59), NOW + 59.999, entry("decision")) is not None
        assert await marks(store) == ["approval", "decision"]

    async def test_a_given_approval_expires_on_the_second(self, store: Store) -> None:
        given = await approved(store)
        assert await store.approval_for("binding", NOW + 30.999) == given
        assert await store.approval_for("binding", NOW + 31) is None
        with pytest.raises(ApprovalGone):
            await store.claim(claim_draft(), entry(), given.id, NOW + 31)
        await store.claim(claim_draft(), entry(), given.id, NOW + 30.999)

    async def test_an_approval_outlasts_the_time_for_its_question(self, store: Store) -> None:
        given = await approved(store, lasts=300.0)
        assert await store.approval_for("binding", NOW + 200) == given

    async def test_an_approval_is_used_once_however_many_try_at_once(self, open_store: OpenStore) -> None:
        stores = [await open_store() for _ in range(2)]
        given = await approved(stores[0])
        drafts = [claim_draft(f"claim {number}") for number in range(30)]
        tries = [stores[number % 2].claim(draft, entry(), given.id, NOW + 2) for number, draft in enumerate(drafts)]
        ends = await asyncio.gather(*tries, return_exceptions=True)
        (made,) = [end for end in ends if isinstance(end, ClaimRecord)]
        assert sum(isinstance(end, ApprovalGone) for end in ends) == 29
        assert len(await stores[0].claims()) == 1
        assert await stores[1].approval(given.id) == replace(given, used=1, claim=made.id)

    async def test_an_approval_for_several_uses_is_used_that_often(self, store: Store) -> None:
        given = await approved(store, uses=3)
        for number in range(3):
            await store.claim(claim_draft(f"claim {number}"), entry(), given.id, NOW + 2)
        with pytest.raises(ApprovalGone):
            await store.claim(claim_draft("claim 3"), entry(), given.id, NOW + 2)

    async def test_a_consumed_approval_answers_for_nothing(self, store: Store) -> None:
        given = await approved(store)
        await store.claim(claim_draft(), entry(), given.id, NOW + 2)
        assert await store.approval_for("binding", NOW + 2) is None
        again = approval_draft("again", asked_at=NOW + 2)
        assert await store.ask(again, NOW + 2, 20, entry()) == again

    async def test_a_decline_is_sticky_until_its_question_expires(self, store: Store) -> None:
        asked = await store.ask(approval_draft(), NOW, 20, entry())
        declined = await store.decide(asked.id, decision(verdict="decline"), NOW + 1, entry())
        assert declined is not None and declined.state_at(NOW + 1) is ApprovalState.DECLINED
        assert await store.ask(approval_draft("again"), NOW + 59, 20, entry()) == declined
        assert await store.decide(asked.id, decision("bob"), NOW + 2, entry()) is None
        with pytest.raises(ApprovalGone):
            await store.claim(claim_draft(), entry(), asked.id, NOW + 2)
        assert await store.approval_for("binding", NOW + 60) is None

    async def test_a_decline_is_taken_back_and_the_approval_waits_until_it_always_would(self, store: Store) -> None:
        asked = await store.ask(approval_draft(), NOW, 20, entry())
        assert await store.decide(asked.id, decision(verdict="reopen"), NOW, entry()) is None, "nobody declined it"
        await store.decide(asked.id, decision(verdict="decline"), NOW + 1, entry())
        taken_back = await store.decide(asked.id, decision(verdict="reopen", at=NOW + 2), NOW + 2, entry())
        assert taken_back is not None and taken_back.state_at(NOW + 2) is ApprovalState.PENDING
        assert await store.approval(asked.id) == taken_back
        assert await store.approvals(pending_at=NOW + 2) == [taken_back]
        other = approval_draft("other", binding="other")
        assert await store.ask(other, NOW + 3, 20, entry(), cooldown=30) == other, "there is nothing to cool down from"
        given = await store.decide(asked.id, decision(at=NOW + 3), NOW + 3, entry())
        assert given is not None and given.state_at(NOW + 3) is ApprovalState.APPROVED
        assert (await store.claim(claim_draft(), entry(), asked.id, NOW + 4)).epoch == 1

    async def test_a_quorum_is_of_distinct_persons(self, store: Store) -> None:
        asked = await store.ask(approval_draft(quorum=2), NOW, 20, entry())
        once = await store.decide(asked.id, decision("ann"), NOW + 1, entry("decision"))
        assert once is not None and once.state_at(NOW + 1) is ApprovalState.PENDING
        assert await store.decide(asked.id, decision("ann"), NOW + 2, entry("decision")) is None
        with pytest.raises(ApprovalGone):
            await store.claim(claim_draft(), entry(), asked.id, NOW + 2)
        twice = await store.decide(asked.id, decision("bob", at=NOW + 3), NOW + 3, entry("decision"))
        assert twice is not None and twice.decisions == (decision("ann"), decision("bob", at=NOW + 3))
        assert await store.approval(asked.id) == twice
        assert await store.approval_for("binding", NOW + 32.999) == twice
        assert await store.approval_for("binding", NOW + 33) is None
        await store.claim(claim_draft(), entry(), asked.id, NOW + 3)

    async def test_one_decline_outweighs_a_quorum_not_yet_reached(self, store: Store) -> None:
        asked = await store.ask(approval_draft(quorum=2), NOW, 20, entry())
        await store.decide(asked.id, decision("ann"), NOW + 1, entry())
        declined = await store.decide(asked.id, decision("bob", "decline"), NOW + 2, entry())
        assert declined is not None and declined.state_at(NOW + 2) is ApprovalState.DECLINED

    async def test_one_person_who_decides_twenty_times_at_once_has_decided_once(self, open_store: OpenStore) -> None:
        stores = [await open_store() for _ in range(2)]
        asked = await stores[0].ask(approval_draft(quorum=2), NOW, 20, entry("approval"))
        tries = [stores[number % 2].decide(asked.id, decision(), NOW + 1, entry("decision")) for number in range(20)]
        taken = [decided for decided in await asyncio.gather(*tries) if decided is not None]
        assert len(taken) == 1
        assert await stores[0].approval(asked.id) == taken[0]
        assert await marks(stores[1]) == ["approval", "decision"]

    async def test_a_person_has_one_voice_under_two_names(self, store: Store) -> None:
        asked = await store.ask(approval_draft(by="approver", quorum=2), NOW, 20, entry("approval"))
        assert await store.decide(asked.id, decision("bob"), NOW + 1, entry("decision")) is not None
        assert await store.decide(asked.id, decision("operator:bob"), NOW + 2, entry("decision")) is None
        kept = await store.approval(asked.id)
        assert kept is not None and kept.decisions == (decision("bob"),)
        assert await marks(store) == ["approval", "decision"]

    async def test_distinct_persons_who_decide_at_once_all_count(self, open_store: OpenStore) -> None:
        stores = [await open_store() for _ in range(2)]
        asked = await stores[0].ask(approval_draft(quorum=5), NOW, 20, entry())
        await asyncio.gather(
            *(stores[number % 2].decide(asked.id, decision(f"p{number}"), NOW + 1, entry()) for number in range(5))
        )
        given = await stores[0].approval(asked.id)
        assert given is not None and given.state_at(NOW + 1) is ApprovalState.APPROVED

    async def test_an_unknown_approval_cannot_be_decided(self, store: Store) -> None:
        assert await store.decide("unknown", decision(), NOW, entry()) is None
        assert await marks(store) == []

    async def test_open_questions_of_one_requester_are_bounded(self, store: Store) -> None:
        for number in range(3):
            await store.ask(approval_draft(f"{number}", binding=f"b{number}"), NOW, 3, entry("approval"))
        with pytest.raises(TooManyPending):
            await store.ask(approval_draft("more", binding="more"), NOW, 3, entry("approval"))
        assert await store.approval("more") is None
        assert await marks(store) == ["approval"] * 3

    async def test_a_standing_question_is_answered_at_the_bound(self, store: Store) -> None:
        asked = await store.ask(approval_draft(), NOW, 1, entry())
        assert await store.ask(approval_draft("again"), NOW, 1, entry()) == asked

    async def test_what_is_decided_expired_or_someone_elses_is_not_counted(self, store: Store) -> None:
        await approved(store, id="given", binding="b1")
        await store.ask(approval_draft("expired", binding="b2", expires_at=NOW + 1), NOW, 20, entry())
        await store.ask(approval_draft("other", binding="b3", requester="other"), NOW, 20, entry())
        await store.ask(approval_draft("tenant", binding="b4", tenant="other"), NOW, 20, entry())
        mine = approval_draft("mine", binding="b5")
        assert await store.ask(mine, NOW + 1, 1, entry()) == mine

    async def test_the_bound_holds_when_many_ask_at_once(self, open_store: OpenStore) -> None:
        stores = [await open_store() for _ in range(2)]
        drafts = [approval_draft(f"{number}", binding=f"b{number}") for number in range(20)]
        tries = [stores[number % 2].ask(draft, NOW, 5, entry()) for number, draft in enumerate(drafts)]
        ends = await asyncio.gather(*tries, return_exceptions=True)
        assert sum(isinstance(end, Approval) for end in ends) == 5
        assert sum(isinstance(end, TooManyPending) for end in ends) == 15

    async def test_after_a_denial_the_tool_is_not_asked_about_again_for_a_while(self, store: Store) -> None:
        await store.ask(approval_draft("a", binding="b1"), NOW, 20, entry())
        await store.decide("a", decision(verdict="decline", at=NOW + 1), NOW + 1, entry())
        with pytest.raises(CoolingDown) as cooling:
            await store.ask(approval_draft("b", binding="b2"), NOW + 11, 20, entry("approval"), cooldown=30)
        assert cooling.value.seconds == 20.0
        for draft in (
            approval_draft("tool", binding="b3", tool="orders.cancel"),
            approval_draft("person", binding="b4", requester="other"),
            approval_draft("tenant", binding="b5", tenant="other"),
        ):
            assert await store.ask(draft, NOW + 11, 20, entry(), cooldown=30) == draft
        assert await store.approval("b") is None
        late = approval_draft("b", binding="b2")
        assert await store.ask(late, NOW + 31, 20, entry(), cooldown=30) == late

    async def test_who_waits_for_a_decision_is_told_of_it(self, open_store: OpenStore) -> None:
        here, there = await open_store(), await open_store()
        await here.ask(approval_draft(quorum=2), NOW, 20, entry())
        assert await here.decided("unknown", 30) is None
        first = await there.decide("approval", decision("ann"), NOW, entry())
        assert await here.decided("approval", 0) == first
        waiting = asyncio.create_task(here.decided("approval", 30))
        await asyncio.sleep(0)
        given = await there.decide("approval", decision("bob"), NOW, entry())
        assert await waiting == given

    async def test_what_waits_for_a_decision_can_be_listed_alone(self, store: Store) -> None:
        await store.ask(approval_draft("waits", binding="b1"), NOW, 20, entry())
        await store.ask(approval_draft("elsewhere", binding="b2", tenant="other"), NOW, 20, entry())
        await store.ask(approval_draft("short", binding="b3", expires_at=NOW + 1), NOW, 20, entry())
        await approved(store, id="given", binding="b4")
        names = [one.id for one in await store.approvals(pending_at=NOW + 1)]
        assert names == ["elsewhere", "waits"]
        assert [one.id for one in await store.approvals(tenant="other", pending_at=NOW)] == ["elsewhere"]
        assert await store.approvals(pending_at=NOW + 60) == []

    async def test_an_approval_is_never_overwritten_by_another_of_its_id(self, store: Store) -> None:
        given = await approved(store)
        with pytest.raises(StoreError):
            await store.ask(approval_draft(binding="another"), NOW, 20, entry("approval"))
        assert await store.approval(given.id) == given
        assert await marks(store) == ["approval", "decision"]

    async def test_the_newest_that_answers_is_found_even_by_a_clock_that_is_behind(self, store: Store) -> None:
        await store.ask(approval_draft("older"), NOW, 20, entry())
        newer = approval_draft("newer", asked_at=NOW + 60, expires_at=NOW + 120)
        await store.ask(newer, NOW + 60, 20, entry())
        assert await store.approval_for("binding", NOW + 59) == newer

    async def test_approvals_are_listed_newest_first_by_tenant_and_number(self, store: Store) -> None:
        for number, name in enumerate("abcd"):
            tenant = "odd" if number % 2 else "even"
            draft = approval_draft(name, binding=name, tenant=tenant, asked_at=NOW + number // 2)
            await store.ask(draft, NOW, 20, entry())
        assert [one.id for one in await store.approvals()] == ["c", "d", "a", "b"]
        assert [one.id for one in await store.approvals(limit=3)] == ["c", "d", "a"]
        assert [one.id for one in await store.approvals(tenant="odd")] == ["d", "b"]
        assert await store.approvals(tenant="none") == []

    async def test_pending_approvals_are_listed_by_the_minute_they_expire_then_by_risk(self, store: Store) -> None:
        minute = NOW // 60 * 60 + 600
        for name, expires, risk in (
            ("later", 61, "critical"),
            ("odd", 5, 7),
            ("low", 1, "low"),
            ("high", 59, "high"),
            ("critical", 30, "critical"),
        ):
            facts = {"risk": risk, "odd": '\x00\u202e"risk":"low"'}
            draft = approval_draft(name, binding=name, expires_at=minute + expires, facts=facts)
            await store.ask(draft, NOW, 20, entry())
        other = approval_draft("other", binding="o", tenant="acme", requester="one", expires_at=minute + 600, facts={})
        await store.ask(other, NOW, 20, entry())
        declined = approval_draft("declined", binding="d", expires_at=minute + 600)
        await store.ask(declined, NOW, 20, entry())
        await store.decide("declined", decision(verdict="decline"), NOW, entry())
        everything = ["critical", "high", "low", "odd", "later", "other"]
        found = await store.urgent_approvals(NOW)
        assert [one.id for one in found] == everything
        assert sorted(found, key=urgency_of) == found
        pages = [await store.urgent_approvals(NOW, skip=skip, limit=2) for skip in (0, 2, 4, 6)]
        assert [one.id for page in pages for one in page] == everything
        assert [one.id for one in await store.urgent_approvals(NOW, tenant="acme", requester="one")] == ["other"]
        assert await store.count_pending(NOW) == (6, minute + 1)
        assert await store.count_pending(minute + 5, tenant="local") == (3, minute + 30)
        assert await store.count_pending(NOW, tenant="nobody's") == (0, None)
        assert [one.id for one in await store.decided_approvals()] == ["declined"]
        assert await store.decided_approvals(tenant="acme") == []

    async def test_approvals_outlive_the_process(self, open_store: OpenStore) -> None:
        store = await open_store()
        given = await approved(store)
        await store.close()
        again = await open_store()
        assert await again.approval(given.id) == given
        await again.claim(claim_draft(), entry(), given.id, NOW + 2)

    async def test_approvals_are_listed_in_pages_of_one_tenant_or_requester(self, store: Store) -> None:
        names = ["a", "b", "c", "d"]
        for number, name in enumerate(names):
            who = {"tenant": "acme" if name == "d" else "local", "requester": "other" if name == "a" else "agent"}
            draft = approval_draft(name, binding=name, asked_at=NOW + number // 2, **who)
            await store.ask(draft, NOW, 20, entry("approval"))
        assert [one.id for one in await store.approvals()] == ["c", "d", "a", "b"]
        assert [one.id for one in await store.approvals(after=(NOW + 1, "c"), limit=2)] == ["d", "a"]
        assert [one.id for one in await store.approvals(after=(NOW, "b"))] == []
        assert [one.id for one in await store.approvals(tenant="local", requester="agent")] == ["c", "b"]
