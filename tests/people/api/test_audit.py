"""The log is read in its order by those whose business it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.gateway.api import Scene, scene


async def entries(there: Scene, who: str, query: str = "") -> list[dict[str, object]]:
    await there.gateway_app.store.flush()
    return (await there.get(f"/api/audit{query}", who)).json["entries"]  # type: ignore[no-any-return]


async def test_entries_are_read_after_a_place_and_filtered(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        await there.call("list_orders", "ci", limit=1)
        await there.ask()
        await there.call("list_orders", "ci", limit=2)
        kinds = [(one["index"], one["kind"]) for one in await entries(there, "ann")]
        assert kinds == [(2, "read"), (3, "approval"), (4, "denial"), (5, "read")], "those before are the operator's"
        assert [one["index"] for one in await entries(there, "ann", "?after=3&limit=1")] == [4]
        assert [one["index"] for one in await entries(there, "ann", "?kind=read")] == [2, 5]
        assert [one["index"] for one in await entries(there, "ann", "?tool=list_orders&after=2")] == [5]
        page = (await there.get("/api/audit?kind=violation", "ann")).json
        assert page == {"entries": [], "next": 5}, "what was looked at need not be looked at again"


async def test_tenants_do_not_see_each_others_entries_and_operators_see_all(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        await there.call("list_orders", "ci", limit=1)
        await there.call("list_orders", "eve", limit=1)
        await there.get("/api/tools", None)
        there.gateway_app.auth.failed_auth.write()
        assert [one["values"]["tenant"] for one in await entries(there, "ann")] == ["acme"]  # type: ignore[index]
        assert [one["values"]["tenant"] for one in await entries(there, "eve")] == ["evil"]  # type: ignore[index]
        everything = [one["kind"] for one in await entries(there, "root")]
        assert everything == ["definition", "configuration", "read", "read", "authentication"]


@pytest.mark.parametrize("who", ["ci", "bot", "bob", "cron"])
async def test_the_log_is_not_for_agents_nor_for_people_without_a_role(who: str, tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        said = await there.get("/api/audit", who)
        assert (said.status, said.code) == (403, "api.not_entitled")
