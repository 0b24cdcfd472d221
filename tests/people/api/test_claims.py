"""What is in doubt is seen by those it concerns and settled by an operator."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from assent.core.audit import Entry
from assent.core.claims import ClaimRecord, State
from support.gateway.api import Scene, scene


async def start(there: Scene, name: str, principal: str = "ci", *, lease: float = -1.0, at: float = 0.0) -> None:
    """A claim whose lease has ended: in doubt."""
    now = time.time()
    record = ClaimRecord(
        id=name,
        tenant="acme",
        principal=principal,
        tool="place_order",
        key="k",
        fingerprint="f",
        contract="sha256:c",
        state=State.STARTED,
        epoch=1,
        lease_until=now + lease,
        created_at=at or now,
        expires_at=now + 1000,
    )
    await there.gateway_app.store.claim(record, Entry("intent", now, {"tool": "place_order"}), None, now)


@pytest.mark.parametrize(
    ("who", "sees"),
    [("root", True), ("ann", True), ("ci", True), ("bot", False), ("cron", False), ("eve", False)],
)
async def test_who_sees_a_claim(who: str, sees: bool, tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        await start(there, "doubtful")
        listed, shown = await there.get("/api/claims", who), await there.get("/api/claims/doubtful", who)
        assert [one["id"] for one in listed.json["claims"]] == (["doubtful"] if sees else [])
        assert (shown.status, shown.code) == ((200, None) if sees else (404, "settle.unknown"))


async def test_a_claim_under_way_is_not_in_doubt(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        await start(there, "running", lease=1000)
        await start(there, "doubtful")
        assert [one["id"] for one in (await there.get("/api/claims", "root")).json["claims"]] == ["doubtful"]
        started = (await there.get("/api/claims?state=started", "root")).json["claims"]
        assert [one["id"] for one in started] == ["running"]
        said = await there.post("/api/claims/running/settle", "root", {"finding": "done"})
        assert (said.status, said.code) == (409, "settle.not_in_doubt")


async def test_claims_come_in_pages(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        for number in range(5):
            await start(there, f"c-{number}", at=1000.25 + number // 2)
        seen, cursor = list[str](), ""
        for _ in range(10):
            page = (await there.get(f"/api/claims?limit=2{cursor}", "root")).json
            seen += [one["id"] for one in page["claims"]]
            if page["next"] is None:
                break
            cursor = f"&cursor={page['next']}"
        assert seen == ["c-4", "c-2", "c-3", "c-0", "c-1"]


@pytest.mark.parametrize(
    ("finding", "state"), [("done", "succeeded"), ("not-done", "failed_no_effect"), ("failed", "failed")]
)
async def test_an_operator_settles_a_doubt_once(finding: str, state: str, tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        await start(there, "doubtful")
        settled = await there.post("/api/claims/doubtful/settle", "root", {"finding": finding})
        assert (settled.status, settled.json["state"]) == (200, state)
        again = await there.post("/api/claims/doubtful/settle", "root", {"finding": finding})
        assert (again.status, again.code) == (409, "settle.not_in_doubt")
        log = (await there.get("/api/audit?kind=operator", "root")).json["entries"]
        assert [one["facts"]["state"] for one in log] == [state]
        await there.gateway_app.store.flush()
        denied = (await there.get("/api/audit?kind=denial", "root")).json["entries"]
        assert [one["facts"]["code"] for one in denied] == ["settle.not_in_doubt"]


@pytest.mark.parametrize("who", ["ann", "bob", "ci", "bot", "cron", "eve"])
async def test_nobody_else_settles(who: str, tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        await start(there, "doubtful")
        said = await there.post("/api/claims/doubtful/settle", who, {"finding": "done"})
        assert (said.status, said.code) == (403, "settle.not_entitled")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "required"),
        ({"finding": "perhaps"}, "finding"),
        ({"finding": "done", "more": 1}, "unknown fields: 'more'"),
        ({"finding": "done", "result": {"content": [1]}}, "result/content/0"),
        ({"finding": "not-done", "result": {"content": []}}, "leave it out"),
        ([], "must be an object"),
    ],
)
async def test_a_finding_that_does_not_fit_is_named(body: object, said: str, tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        await start(there, "doubtful")
        refused = await there.post("/api/claims/doubtful/settle", "root", body)
        assert (refused.status, refused.code) == (422, "api.invalid")
        assert said in refused.json["detail"]
