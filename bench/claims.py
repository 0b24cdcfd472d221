"""What is written for a claim with its settlement, in every bench of a store?"""

from __future__ import annotations

from collections.abc import Sequence

from assent.core.audit import Entry
from assent.core.claims import ClaimRecord, Settlement, State
from assent.ports import Store
from support.store_suite.drafts import NOW, claim_draft

RESULT = b'{"content":[],"structuredContent":{"order":"' + b"r" * 80 + b'"}}'
END = Settlement(State.SUCCEEDED, NOW, RESULT)
FACTS = {
    "tool": "orders.place",
    "tier": "external_spend",
    "risk": "critical",
    "event": "orders.placed",
    "contract": "sha256:" + "c" * 64,
    "mode": "live",
}
WHO = {"principal": "agent-7", "kind": "agent", "tenant": "local", "call": "d" * 64}
ARGUMENTS = b'{"address":"12 Long Street","amount":"25.00","item":"' + b"x" * 40 + b'","note":"","quantity":3}'
Calls = list[tuple[ClaimRecord, Entry, list[Entry]]]


def intent(draft: ClaimRecord) -> Entry:
    return Entry("intent", NOW, {**FACTS, "claim": draft.id}, {**WHO, "arguments": ARGUMENTS})


def outcome(draft: ClaimRecord) -> Entry:
    return Entry("outcome", NOW, {**FACTS, "claim": draft.id, "state": "succeeded"})


def numbered(numbers: Sequence[int]) -> list[ClaimRecord]:
    """Names without order, as digests have none; times in order, as time has."""
    names = [f"{number * 0x9E3779B97F4A7C15 % 2**64:064x}" for number in numbers]
    return [claim_draft(name, created_at=NOW + at / 1000) for name, at in zip(names, numbers, strict=True)]


def calls(drafts: Sequence[ClaimRecord]) -> Calls:
    return [(draft, intent(draft), [outcome(draft)]) for draft in drafts]


async def claim_and_settle(store: Store, draft: ClaimRecord, before: Entry, after: list[Entry]) -> None:
    await store.claim(draft, before, None, NOW)
    assert await store.settle(draft.id, 1, END, after)
