"""The overview and the upstreams in the console."""

from __future__ import annotations

import re
from pathlib import Path

from support.console.plain_browser import signed_in
from support.gateway.gateways import gateway, post, rpc, shop_gateway

READ = rpc("tools/call", name="list_orders", arguments={})
ASKED = rpc("tools/call", name="delete_order", arguments={"order_id": "1"})
WRONG = rpc("tools/call", name="list_orders", arguments={"limit": "many"})
VIEWER = {"roles": frozenset({"viewer"})}


async def test_the_overview_counts_calls_refusals_and_waiting_approvals(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        assert "No call was made since the start" in (await person.get("/console/overview")).text
        for call in (READ, READ, ASKED, WRONG):
            await post(url, call)
        page = (await person.get("/console/overview")).text
        assert "2 answered, 1 asked a person, 1 refused" in page
        assert 'href="/console/approvals">1</a>' in page
        assert re.search(r'<th scope="row">validate</th>.*?<td class="number">1</td>', page)
        assert "style=" not in page and "<script>" not in page
        assert page.count('class="bar') >= 3


async def test_spend_is_shown_against_its_budget(tmp_path: Path) -> None:
    budgets = [{"amount": 10, "per": "1d", "match": {"tool": "list_orders"}}]
    async with shop_gateway(tmp_path, budgets=budgets) as (url, gateway_app, _):
        for _ in range(4):
            await post(url, READ)
        await gateway_app.store.flush()
        async with signed_in(url, gateway_app.store) as person:
            page = (await person.get("/console/overview")).text
            assert re.search(r'class="number">4</td><td class="number">10</td>', page)
            assert "40 %" in page
        async with signed_in(url, gateway_app.store, tenant="other", **VIEWER) as stranger:
            assert "No budget was spent lately" in (await stranger.get("/console/overview")).text


async def test_people_of_a_tenant_see_no_numbers_of_the_whole_gateway(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        await post(url, ASKED)
        async with signed_in(url, gateway_app.store, tenant="other", **VIEWER) as stranger:
            page = (await stranger.get("/console/overview")).text
            assert "since the start" not in page and 'href="/console/approvals">0</a>' in page


async def test_upstreams_show_health_tools_and_the_last_error_in_words(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        page = (await person.get("/console/upstreams")).text
        assert "answers" in page and "closed" in page and "0 s ago" in page
        assert 'href="/console/tools?upstream=shop&amp;state=served">4</a>' in page
    unreachable = {"gone": {"url": "http://127.0.0.1:9/mcp?token=secret", "headers": {"x-key": "secret"}}}
    async with gateway(tmp_path, unreachable, contracts=[]) as (url, gateway_app):
        async with signed_in(url, gateway_app.store) as person:
            page = (await person.get("/console/upstreams")).text
            assert "in trouble" in page and "http://127.0.0.1:9/mcp" in page
            assert "secret" not in page


async def test_upstreams_are_for_operators_auditors_and_admins(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        for role, status in (("viewer", 403), ("approver", 403), ("auditor", 200), ("admin", 200), ("operator", 200)):
            async with signed_in(url, gateway_app.store, roles=frozenset({role})) as person:
                assert (await person.get("/console/upstreams")).status_code == status
