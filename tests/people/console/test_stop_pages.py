"""The stop switch in the console, without JavaScript."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from support.console.plain_browser import signed_in
from support.decisions.problems import problem
from support.gateway.api import scene
from support.gateway.gateways import post, rpc, shop_gateway

READ = rpc("tools/call", name="list_orders", arguments={})
WRITE = rpc("tools/call", name="delete_order", arguments={"order_id": "1"})


def code_of(answer: Any) -> str | None:
    result = answer.json()["result"]
    return problem(result)["code"] if result.get("isError") else None


async def test_an_operator_stops_everything_and_releases_it_in_steps(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        assert "Nothing is stopped" in (await person.get("/console/stop")).text
        done = await person.send("/console/stop", {"scope": "everything", "level": "all", "reason": "keys leaked"})
        assert (done.status_code, done.headers["location"]) == (303, "/console/stop")
        refused = await post(url, READ)
        assert code_of(refused) == "authorize.stopped"
        assert "keys leaked" in refused.text
        shown = (await person.get("/console/stop")).text
        assert "keys leaked" in shown and "stops all calls" in shown
        switch = re.search(r"/console/stop/(\w+)/ease", shown)
        assert switch is not None
        await person.send(f"/console/stop/{switch[1]}/ease", {"reason": "rotated"})
        assert code_of(await post(url, READ)) is None
        assert code_of(await post(url, WRITE)) == "authorize.stopped"
        await person.send(f"/console/stop/{switch[1]}/release", {"reason": "over"})
        assert code_of(await post(url, WRITE)) == "confirm.approval_pending"
        assert (await person.send(f"/console/stop/{switch[1]}/release", {"reason": "twice"})).status_code == 404


async def test_a_stop_needs_a_reason_a_target_and_a_known_scope(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        for form in (
            {"scope": "everything", "reason": ""},
            {"scope": "everything", "reason": "   "},
            {"scope": "tool", "reason": "x"},
            {"scope": "planet", "target": "mars", "reason": "x"},
            {"scope": "everything", "level": "some", "reason": "x"},
            {"scope": "tool", "target": "t" * 600, "reason": "x"},
        ):
            assert (await person.send("/console/stop", form)).status_code == 422, form
        assert await gateway_app.runtime.stop_switches.all() == []
        assert code_of(await post(url, READ)) is None


async def test_only_operators_stop_and_release(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        who = {"roles": frozenset({"viewer", "approver", "auditor", "admin"})}
        async with signed_in(url, gateway_app.store, **who) as viewer:
            page = await viewer.get("/console/stop")
            assert page.status_code == 200 and "Stop now" not in page.text
            form = {"scope": "everything", "reason": "x"}
            assert (await viewer.send("/console/stop", form)).status_code == 403
            assert (await viewer.send("/console/stop/abc/release", {"reason": "x"})).status_code == 403


async def test_reasons_and_targets_are_shown_as_text(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        form = {"scope": "principal", "target": "<b>bot\u202e", "anyway": "1", "reason": "<script>x</script>"}
        assert (await person.send("/console/stop", form)).status_code == 303
        shown = (await person.get("/console/stop?target=%22%3E%3Cb%3E")).text
        assert "<script>x" not in shown and "<b>bot" not in shown and '"><b>' not in shown
        assert "\u202e" not in shown


async def test_the_api_sets_switches_for_operators_alone(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        body = {"scope": "principal", "target": "ci", "tenant": "acme", "reason": "too busy"}
        for who in ("ci", "bot", "ann", "bob", "cron"):
            assert (await there.post("/api/switches", who, body)).code == "api.not_entitled"
        made = await there.post("/api/switches", "root", body)
        assert (made.status, made.json["level"]) == (200, "all")
        assert (await there.get("/api/switches", "ci")).code == "api.not_entitled"
        assert [one["target"] for one in (await there.get("/api/switches", "ann")).json["switches"]] == ["ci"]
        assert (await there.get("/api/switches", "eve")).json["switches"] == []
        path = f"/api/switches/{made.json['id']}"
        assert (await there.post(f"{path}/ease", "root", {"reason": "ok"})).json["level"] == "effects"
        assert (await there.post(f"{path}/release", "root", {})).status == 422
        assert (await there.post(f"{path}/release", "root", {"reason": "done"})).status == 200
        assert (await there.get("/api/switches", "root")).json["switches"] == []


async def test_an_unknown_name_is_refused_with_what_may_be_meant_and_the_page_offers_what_there_is(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path) as there:
        body = {"scope": "tool", "target": "delete_ordr", "reason": "an incident"}
        refused = await there.post("/api/switches", "root", body)
        assert (refused.status, refused.code) == (404, "api.unknown")
        assert "Did you mean delete_order?" in refused.json["detail"] and "`anyway`" in refused.json["detail"]
        wrong = {"scope": "principal", "target": "ci", "tenant": "evil", "reason": "an incident"}
        assert (await there.post("/api/switches", "root", wrong)).status == 404
        assert (await there.get("/api/switches", "root")).json["switches"] == []
        assert (await there.post("/api/switches", "root", {**body, "anyway": True})).status == 200
        async with signed_in(there.url, there.gateway_app.store) as person:
            page = (await person.get("/console/stop")).text
            assert all(f'<option value="{name}">' in page for name in ("shop", "delete_order", "ci", "cron"))
            form = {"scope": "principal", "target": "cronn", "reason": "an incident"}
            assert "Did you mean cron?" in (await person.send("/console/stop", form)).text
