"""Claims in flight and in doubt, settled with evidence; and the page of one operation."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from assent.core.audit import Entry
from assent.core.claims import ClaimRecord, State
from support.console.plain_browser import signed_in
from support.gateway.gateways import CI, KEY, post, rpc, shop_gateway

ORDER = {"name": "place_order", "arguments": {"item": "scene"}, "_meta": {KEY: "k-1"}}


async def start(gateway_app: Any, name: str, *, lease: float = -1.0, tenant: str = "local") -> None:
    """A claim whose lease has ended, which is in doubt; with a lease, one in flight."""
    now = time.time()
    what = (name, tenant, "ci", "place_order", "k", "f", "sha256:c")
    record = ClaimRecord(*what, State.STARTED, 1, now + lease, now, now + 1000)
    facts = {"tool": "place_order", "claim": gateway_app.keyring.keyed_hash(name)}
    who = {"principal": "ci", "kind": "agent", "tenant": tenant}
    await gateway_app.store.claim(record, Entry("intent", now, facts, who), None, now)


async def test_claims_in_doubt_and_in_flight_have_lists_of_their_own(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        async with signed_in(url, gateway_app.store, roles=frozenset({"viewer"})) as person:
            assert "No call is in doubt" in (await person.get("/console/claims")).text
            await start(gateway_app, "doubtful")
            await start(gateway_app, "running", lease=1000)
            doubt, flight = [(await person.get(f"/console/claims{one}")).text for one in ("", "?state=started")]
            assert "/console/claims/doubtful" in doubt and "/console/claims/running" not in doubt
            assert "/console/claims/running" in flight and "/console/claims/doubtful" not in flight
            page = (await person.get("/console/claims/doubtful")).text
            assert "An operator can settle it" in page and '<form method="post" action="/console/claims' not in page
            assert (await person.send("/console/claims/doubtful/settle", {"finding": "done"})).status_code == 403


@pytest.mark.parametrize(
    ("finding", "state"), [("done", "succeeded"), ("not-done", "failed_no_effect"), ("failed", "failed")]
)
async def test_an_operator_settles_with_evidence_and_the_log_keeps_it(finding: str, state: str, tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        async with signed_in(url, gateway_app.store, roles=frozenset({"operator"})) as person:
            await start(gateway_app, "doubtful")
            page = "/console/claims/doubtful"
            assert 'name="note"' in (await person.get(page)).text
            note = "Order 4711 is in the shop's <own> list."
            done = await person.send(f"{page}/settle", {"finding": finding, "note": note})
            assert (done.status_code, done.headers["location"]) == (303, page)
            assert state.replace("_", " ") in (await person.get(page)).text
            entry = (await gateway_app.store.entries())[-1].entry
            assert (entry.kind, entry.facts["state"]) == ("operator", state)
            assert (entry.values["note"], entry.values["principal"]) == (note, "ann")
            assert (await person.send(f"{page}/settle", {"finding": finding, "note": note})).status_code == 409


@pytest.mark.parametrize(
    "form", [{}, {"finding": "done"}, {"finding": "maybe", "note": "x"}, {"finding": "done", "note": " "},
             {"finding": "done", "note": "x" * 2001}],
)  # fmt: skip
async def test_a_finding_without_evidence_settles_nothing(form: dict[str, str], tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        await start(gateway_app, "doubtful")
        assert (await person.send("/console/claims/doubtful/settle", form)).status_code == 422
        record = await gateway_app.store.claim_by_id("doubtful")
        assert record.state is State.STARTED


async def test_another_tenants_claims_and_operations_do_not_exist(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        await start(gateway_app, "doubtful", tenant="acme")
        who = {"tenant": "evil", "roles": frozenset({"viewer", "auditor"})}
        async with signed_in(url, gateway_app.store, **who) as stranger:
            assert "No call is in doubt" in (await stranger.get("/console/claims")).text
            reference = gateway_app.keyring.keyed_hash("doubtful")
            for path in ("claims/doubtful", "operations/doubtful", f"operations/{reference}"):
                assert (await stranger.get(f"/console/{path}")).status_code == 404, path
        async with signed_in(url, gateway_app.store, tenant="acme", roles=frozenset({"viewer"})) as ours:
            for path in ("claims/doubtful", "operations/doubtful", f"operations/{reference}"):
                assert (await ours.get(f"/console/{path}")).status_code == 200, path


async def test_an_operation_is_told_from_question_to_outcome(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        call = rpc("tools/call", name="delete_order", arguments={"order_id": "<b>o-1</b>"})
        await post(url, rpc("tools/call", name="delete_order", arguments={"order_id": "another"}))
        await post(url, call)
        approval = next(one for one in await gateway_app.store.approvals(limit=2) if "o-1" in one.text).id
        await person.send(f"/console/approvals/{approval}/approve")
        await post(url, call)
        await gateway_app.store.flush()
        last = (await gateway_app.store.entries())[-1]
        assert last.entry.kind == "outcome"
        reference = last.entry.facts["claim"]
        steps = ["Asked to delete order", "Approved: delete order", "Began to delete order", "Deleted order"]
        for path in (approval, reference, f"{reference}?near={last.index}"):
            page = (await person.get(f"/console/operations/{path}")).text
            places = [page.index(f"<strong>{step}") for step in steps]
            assert places == sorted(places), path
            assert "&lt;b&gt;o-1&lt;/b&gt;" in page and "<b>o-1" not in page and "another" not in page
            assert "Only a part of the log" not in page


async def test_a_settled_operation_names_who_settled_it(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        await start(gateway_app, "doubtful")
        await person.send("/console/claims/doubtful/settle", {"finding": "done", "note": "seen"})
        page = (await person.get("/console/operations/doubtful")).text
        assert "Settled after a look: place order (succeeded)" in page and "by ann" in page


async def test_an_operation_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        for name in ("nothing", "x" * 300, "%22%7D"):
            assert (await person.get(f"/console/operations/{name}")).status_code == 404


async def test_a_call_without_a_question_is_an_operation_too(tmp_path: Path) -> None:
    keys = [{"name": "ci", "key": CI, "kind": "agent", "scopes": ["*"]}]
    free = {"api_keys": keys}
    async with shop_gateway(tmp_path, auth=free, mode="observe") as (url, gateway_app, _):
        async with signed_in(url, gateway_app.store) as person:
            await post(url, rpc("tools/call", **ORDER), authorization=f"Bearer {CI}")
            await gateway_app.store.flush()
            last = (await gateway_app.store.entries())[-1].entry
            page = (await person.get(f"/console/operations/{last.facts['claim']}")).text
            assert "Began to place order" in page and "Placed order" in page
