"""What does a test put into a store?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from assent.core.api_keys import KeyRecord
from assent.core.approval import Approval, Decision, Verdict
from assent.core.audit import Entry
from assent.core.claims import ClaimRecord, Settlement, State
from assent.core.principal import Principal
from assent.ports import LogEntry, Store

NOW = 1_800_000_000.0
LEASE = 15.0
OpenStore = Callable[[], Awaitable[Store]]


def claim_draft(name: str = "claim", **changes: Any) -> ClaimRecord:
    """A claim about to be made at NOW."""
    draft = ClaimRecord(
        id=name,
        tenant="local",
        principal="agent",
        tool="orders.place",
        key="key-1",
        fingerprint="f" * 64,
        contract="sha256:" + "c" * 64,
        state=State.STARTED,
        epoch=1,
        lease_until=NOW + LEASE,
        created_at=NOW,
        expires_at=NOW + 30 * 86400,
    )
    return draft._replace(**changes)


def approval_draft(name: str = "approval", **changes: Any) -> Approval:
    """A question asked at NOW: a minute to answer, half a minute to use the answer."""
    draft = Approval(
        id=name,
        binding="binding",
        tenant="local",
        requester="agent",
        tool="orders.place",
        by="approver",
        quorum=1,
        text="Place the order?",
        facts={"tool": "orders.place", "risk": "critical"},
        asked_at=NOW,
        expires_at=NOW + 60,
        lasts=30.0,
    )
    return replace(draft, **changes)


def key_draft(name: str = "1") -> KeyRecord:
    """A key made at NOW."""
    return KeyRecord(f"digest {name}", f"assent_{name}", Principal("ci", "agent", scopes=frozenset({"*"})), NOW)


def decision(person: str = "ann", verdict: Verdict = "approve", at: float = NOW + 1) -> Decision:
    return Decision(person, verdict, at)


def entry(mark: str = "intent", **values: Any) -> Entry:
    """An entry to be recognised by its mark."""
    return Entry("operator", NOW, {"tool": "orders.place"}, {"mark": mark, **values})


def succeeded(result: bytes = b'{"ok":true}', **changes: Any) -> Settlement:
    return Settlement(State.SUCCEEDED, NOW + 1, result)._replace(**changes)


async def approved(store: Store, **changes: Any) -> Approval:
    """An approval that a person has given."""
    asked = await store.ask(approval_draft(**changes), NOW, 20, entry("approval"))
    given = await store.decide(asked.id, decision(), NOW + 1, entry("decision"))
    assert given is not None
    return given


async def marks(store: Store) -> list[str]:
    """The log so far, by the marks of its entries."""
    await store.flush()
    return [mark_of(logged) for logged in await store.entries()]


def mark_of(logged: LogEntry) -> str:
    mark: str = logged.entry.values["mark"]
    return mark
