"""People decide over HTTP, once, and only what is theirs to decide."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from support.gateway.api import scene


async def test_an_approver_says_yes_and_the_call_goes_through_once(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        name = await there.ask()
        listed = await there.get("/api/approvals", "ann")
        assert [one["id"] for one in listed.json["approvals"]] == [name]
        shown = await there.get(f"/api/approvals/{name}", "ann")
        assert shown.json["state"] == "pending"
        assert "o-1" in shown.json["text"]
        given = await there.post(f"/api/approvals/{name}/approve", "ann", {})
        assert (given.status, given.json["state"]) == (200, "approved")
        assert [one["person"] for one in given.json["decisions"]] == ["ann"]
        assert await there.call("delete_order", "ci", order_id="o-1") == {"deleted": "o-1"}
        assert (await there.get(f"/api/approvals/{name}", "ann")).json["state"] == "consumed"
        assert there.shop.effects == ["delete o-1"]


async def test_a_denial_is_a_denial_and_comes_without_a_body_too(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        name = await there.ask()
        assert (await there.post(f"/api/approvals/{name}/deny", "ann")).json["state"] == "declined"
        again = await there.post(f"/api/approvals/{name}/approve", "ann", {})
        assert (again.status, again.code) == (409, "approve.already_decided")
        assert (await there.call("delete_order", "ci", order_id="o-1"))["code"] == "confirm.declined"
        assert there.shop.effects == []


@pytest.mark.parametrize(
    ("who", "sees", "decides"),
    [
        ("ann", True, (200, None)),
        ("root", True, (200, None)),
        ("bob", True, (403, "approve.not_entitled")),
        ("ci", True, (403, "approve.not_entitled")),
        ("bot", False, (403, "approve.not_entitled")),
        ("cron", False, (403, "approve.not_entitled")),
        ("eve", False, (404, "approve.unknown")),
        (None, None, (401, "authenticate.missing")),
    ],
)
async def test_who_sees_and_who_decides(
    who: str | None, sees: bool | None, decides: tuple[int, str | None], tmp_path: Path
) -> None:
    async with scene(tmp_path) as there:
        name = await there.ask()
        listed, shown = await there.get("/api/approvals", who), await there.get(f"/api/approvals/{name}", who)
        if sees is None:
            assert (listed.status, shown.status) == (401, 401)
            assert listed.headers["www-authenticate"] == "Bearer"
        else:
            assert [one["id"] for one in listed.json["approvals"]] == ([name] if sees else [])
            assert shown.status == (200 if sees else 404)
        for verdict in ("approve", "deny")[: 1 if decides[0] == 200 else 2]:
            said = await there.post(f"/api/approvals/{name}/{verdict}", who, {})
            assert (said.status, said.code) == decides


async def test_another_tenants_approval_and_none_answer_alike(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        name = await there.ask()
        foreign = await there.get(f"/api/approvals/{name}", "eve")
        none = await there.get(f"/api/approvals/{name[::-1]}", "eve")
        assert str(foreign.json).replace(name, "ID") == str(none.json).replace(name[::-1], "ID")


async def test_an_agent_learns_what_became_of_its_question_but_not_who_answered(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        name = await there.ask()
        await there.post(f"/api/approvals/{name}/approve", "ann", {})
        shown = (await there.get(f"/api/approvals/{name}", "ci")).json
        assert shown["state"] == "approved"
        assert "decisions" not in shown
        assert "ann" not in str(shown)


async def test_nobody_approves_their_own_request(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        name = await there.ask(by="ann")
        said = await there.post(f"/api/approvals/{name}/approve", "ann", {})
        assert (said.status, said.code) == (403, "approve.own_request")


async def test_no_get_has_an_effect(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        name = await there.ask()
        for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS"):
            said = await there.send(method, f"/api/approvals/{name}/approve", "ann")
            assert said.status == 405
            assert said.headers["allow"] == "POST"
        assert (await there.get(f"/api/approvals/{name}", "ann")).json["state"] == "pending"


async def test_pages_follow_each_other_and_lose_nothing(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        asked = [await there.ask(f"o-{number}") for number in range(7)]
        await there.post(f"/api/approvals/{asked[3]}/deny", "ann", {})
        seen, cursor = list[str](), ""
        for _ in range(10):
            page = (await there.get(f"/api/approvals?limit=2{cursor}", "ann")).json
            assert len(page["approvals"]) <= 2
            seen += [one["id"] for one in page["approvals"]]
            if page["next"] is None:
                break
            cursor = f"&cursor={page['next']}"
        assert seen == [name for name in reversed(asked) if name != asked[3]]
        declined = (await there.get("/api/approvals?state=declined", "ann")).json["approvals"]
        assert [one["id"] for one in declined] == [asked[3]]
        everything = (await there.get("/api/approvals?state=all&limit=1000", "root")).json
        assert len(everything["approvals"]) == 7


async def test_fifty_people_at_once_are_one_decision(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        name = await there.ask()
        tries = [there.post(f"/api/approvals/{name}/approve", "ann" if n % 2 else "root", {}) for n in range(50)]
        statuses = sorted(said.status for said in await asyncio.gather(*tries))
        assert statuses == [200] + [409] * 49
