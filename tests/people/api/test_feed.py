"""The feed, operations and single entries over `/api`; every answer is held against the OpenAPI document."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from support.gateway.api import scene


async def test_the_feed_is_for_people_of_the_tenant(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        await there.ask("o-1")
        await there.call("list_orders", "eve", limit=1)
        await there.gateway_app.store.flush()
        ours, theirs = await there.get("/api/feed", "bob"), await there.get("/api/feed", "eve")
        assert [line["text"] for line in ours.json["lines"]] == [
            "Waits for approval to delete order",
            "Asked to delete order",
        ]
        assert [line["who"] for line in theirs.json["lines"]] == ["eve"]
        everything = (await there.get("/api/feed?limit=2", "root")).json
        assert len(everything["lines"]) == 2
        rest = (await there.get(f"/api/feed?before={everything['next']}", "root")).json
        assert len(rest["lines"]) == 1 and rest["next"] is None


@pytest.mark.parametrize("who", ["ci", "bot", "cron"])
@pytest.mark.parametrize("path", ["/api/feed", "/api/operations/x", "/api/audit/0", "/api/audit/status"])
async def test_agents_and_services_have_no_feed(who: str, path: str, tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        said = await there.get(path, who)
        assert (said.status, said.code) == (403, "api.not_entitled")


async def test_lists_of_entries_hold_no_payload(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        await there.ask("secret-order")
        await there.gateway_app.store.flush()
        for who in ("root", "ann", "eve"):
            for order in ("log", "newest"):
                listed = (await there.get(f"/api/audit?order={order}", who)).json
                assert "secret-order" not in str(listed)
        asked = (await there.get("/api/audit?kind=approval", "root")).json["entries"][0]
        assert asked["values"] == {"principal": "ci", "kind": "agent", "tenant": "acme"}
        assert asked["withheld"] == ["arguments", "call"]


async def test_a_look_at_values_needs_the_role_and_is_written_down(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        await there.call("delete_order", "eve", order_id="secret-order")
        await there.gateway_app.store.flush()
        entry = (await there.get("/api/audit?kind=approval&order=newest", "eve")).json["entries"][0]["index"]
        assert (await there.post(f"/api/audit/{entry}/values", "root", {})).status == 403
        assert (await there.post(f"/api/audit/{entry}/values", "ann", {})).status == 404, "another tenant's"
        shown = (await there.post(f"/api/audit/{entry}/values", "eve", {})).json
        assert shown["values"]["arguments"] == {"order_id": "secret-order"} and shown["looked"]
        await there.gateway_app.store.flush()
        written = [
            one.entry for one in await there.gateway_app.store.entries() if one.entry.facts.get("action") == "look"
        ]
        assert [(one.kind, one.values["principal"]) for one in written] == [("denial", "root"), ("operator", "eve")]


async def test_an_operation_is_told_by_its_approval(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        approval = await there.ask("o-1")
        await there.post(f"/api/approvals/{approval}/approve", "ann", {})
        await there.call("delete_order", "ci", order_id="o-1")
        await there.gateway_app.store.flush()
        told = (await there.get(f"/api/operations/{approval}", "bob")).json
        assert [step["kind"] for step in told["entries"]] == ["approval", "decision", "intent", "outcome"]
        assert (told["state"], told["who"], told["tool"], told["complete"]) == ("done", "ci", "delete_order", True)
        assert (await there.get(f"/api/operations/{approval}", "eve")).status == 404


@pytest.mark.parametrize("name", ["delete_order", "live", 'x","tool":"delete_order'])
async def test_other_words_of_an_entry_are_no_operation(name: str, tmp_path: Path) -> None:
    """Else a viewer reads the log of a tool by its name; the log is for operators, auditors and approvers."""
    async with scene(tmp_path) as there:
        await there.ask("o-1")
        await there.gateway_app.store.flush()
        for who in ("bob", "root"):
            assert (await there.get(f"/api/operations/{quote(name)}", who)).status == 404


async def test_an_operators_decision_belongs_to_the_tenant_whose_call_it_is_about(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        approval = await there.ask("o-1")
        await there.post(f"/api/approvals/{approval}/approve", "root", {})
        await there.gateway_app.store.flush()
        lines = (await there.get("/api/feed?outcome=decided", "bob")).json["lines"]
        assert [(line["text"], line["who"]) for line in lines] == [("Approved: delete order", "root")]
