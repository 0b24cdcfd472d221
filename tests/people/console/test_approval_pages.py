"""Approvals on web pages, without JavaScript."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from people.console.test_approval_inbox import ask
from support.console.plain_browser import signed_in
from support.decisions.problems import problem
from support.gateway.gateways import post, rpc, shop_gateway

CALL = rpc("tools/call", name="delete_order", arguments={"order_id": "<b>o-1</b>"})


def problem_of(answer: Any) -> dict[str, Any]:
    return problem(answer.json()["result"])


async def test_a_person_approves_and_the_agents_next_call_runs(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, shop), signed_in(url, gateway_app.store) as person:
        waiting = problem_of(await post(url, CALL))
        inbox = (await person.get("/console/approvals")).text
        assert waiting["approval"] in inbox and "delete_order" in inbox
        page = f"/console/approvals/{waiting['approval']}"
        shown = (await person.get(page)).text
        assert "&lt;b&gt;o-1&lt;/b&gt;" in shown and "<b>o-1" not in shown
        done = await person.send(f"{page}/approve")
        assert (done.status_code, done.headers["location"]) == (303, page)
        assert "No call waits" in (await person.get("/console/approvals")).text
        assert shop.effects == []
        await post(url, CALL)
        assert shop.effects == ["delete <b>o-1</b>"]


async def test_a_person_denies_and_the_call_stays_refused(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, shop), signed_in(url, gateway_app.store) as person:
        waiting = problem_of(await post(url, CALL))
        await person.send(f"/console/approvals/{waiting['approval']}/deny")
        assert problem_of(await post(url, CALL))["code"] == "confirm.declined"
        assert shop.effects == []


async def test_a_viewer_reads_and_does_not_decide(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        async with signed_in(url, gateway_app.store, roles=frozenset({"viewer"})) as viewer:
            waiting = problem_of(await post(url, CALL))
            page = f"/console/approvals/{waiting['approval']}"
            assert "Approve" not in (await viewer.get(page)).text.replace("Approved", "")
            assert (await viewer.send(f"{page}/approve")).status_code == 403
            assert problem_of(await post(url, CALL))["code"] == "confirm.approval_pending"


async def test_another_tenants_approvals_do_not_exist(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        who = {"tenant": "other", "roles": frozenset({"approver"})}
        async with signed_in(url, gateway_app.store, **who) as stranger:
            waiting = problem_of(await post(url, CALL))
            page = f"/console/approvals/{waiting['approval']}"
            assert "No call waits" in (await stranger.get("/console/approvals")).text
            assert (await stranger.get(page)).status_code == 404
            assert (await stranger.send(f"{page}/approve")).status_code == 404


async def test_an_approval_that_was_decided_elsewhere_says_so(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        async with signed_in(url, gateway_app.store) as one, signed_in(url, gateway_app.store, id="bob") as other:
            waiting = problem_of(await post(url, CALL))
            page = f"/console/approvals/{waiting['approval']}"
            assert (await one.send(f"{page}/approve")).status_code == 303
            late = await other.send(f"{page}/deny")
            assert late.status_code == 409
            assert "Approved" in (await other.get(page)).text


async def test_an_unused_yes_is_taken_back_on_its_page_and_the_page_says_which_sign_in_it_needs(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, shop), signed_in(url, gateway_app.store) as ann:
        waiting = await ask(url, "o-1")
        path = f"/console/approvals/{waiting}"
        assert "you must have signed in within the last 5 min. You have." in (await ann.get(path)).text
        assert (await ann.send(f"{path}/approve")).status_code == 303
        assert "Take the approval back" in (await ann.get(path)).text
        assert (await ann.send(f"{path}/reopen")).status_code == 303
        assert "Approve</button>" in (await ann.get(path)).text
        assert (await ask(url, "o-1"), shop.effects) == (waiting, [])
