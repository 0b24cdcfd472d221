"""The rules page, the pages of agents, the contract on a tool's page, and the search."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from people.console.test_claim_pages import start
from support.console.plain_browser import Browser, signed_in
from support.console.team import agent_key
from support.gateway.gateways import post, rpc, shop_gateway

GUARDS = [
    {"match": {"tool": "list_orders"}, "rule": "bounds", "fields": ["limit"], "least": 0, "most": 5},
    {
        "match": {"tool": "no_such_tool"},
        "rule": "bounds",
        "fields": ["limit"],
        "least": 0,
        "because": "It is <b>old</b>.",
    },
]
KEYS = [
    {"name": name, "key": agent_key(name), "kind": "agent", "scopes": scopes, "tenant": tenant}
    for name, scopes, tenant in (
        ("support-agent", ["*"], "acme"),
        ("idle-agent", [], "acme"),
        ("https://id.test/a?b=[1]|eve", ["*"], "evil"),
    )
]
RULES = {
    "guards": GUARDS,
    "limits": [{"match": {"tier": "read"}, "calls": 1000, "per": "1m"}],
    "budgets": [{"amount": 12, "per": "1d", "match": {"tool": "place_order"}}],
    "auth": {"api_keys": KEYS},
}
EVE = KEYS[2]["name"]


async def call(url: str, agent: Any, tool: str, **arguments: Any) -> None:
    await post(url, rpc("tools/call", name=tool, arguments=arguments), authorization=f"Bearer {agent_key(agent)}")


async def some_calls(url: str, app: Any) -> None:
    for limit in (1, 2, 3, 9):
        await call(url, "support-agent", "list_orders", limit=limit)
    await call(url, "support-agent", "delete_order", order_id="o-1")
    await call(url, EVE, "place_order", item="<script>x", quantity=1)
    await app.store.flush()


async def read(person: Browser, path: str) -> str:
    answer = await person.get(path)
    assert answer.status_code == 200, (path, answer.status_code)
    return answer.text


def cells(page: str, row: str) -> list[str]:
    """The texts of the cells of the table's row that holds this text."""
    found = next(one for one in re.findall(r"<tr>.*?</tr>", page, re.DOTALL) if row in one)
    return [
        re.sub(r"<[^>]+>|\s+", " ", cell).strip() for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", found, re.DOTALL)
    ]


async def test_the_rules_say_what_they_apply_to_and_what_they_stopped(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, **RULES) as (url, app, _), signed_in(url, app.store) as person:
        await some_calls(url, app)
        page = await read(person, "/console/rules")
        guard = cells(page, "fields limit, least 0, most 5")
        assert (
            "tool list_orders" in guard[1]
            and "1 tool " in guard[1]
            and (guard[2], "refuses" in guard[0]) == ("1", True)
        )
        assert "No tool that is served now" in page and "&lt;b&gt;old" in page
        assert "tier read" in cells(page, "1000 calls in 1m")[1]
        assert "tool place_order" in cells(page, "12 calls in 1d")[1]
        assert page.count('class="feed-text"') == 1, "one call was stopped by a rule"


@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("approver", 403), ("auditor", 200), ("operator", 200)])
async def test_staff_sees_rules_and_operators_alone_try_them(role: str, status: int, tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, **RULES) as (url, app, _):
        async with signed_in(url, app.store, roles=frozenset({role}), tenant="acme") as person:
            answer = await person.get("/console/rules")
            assert answer.status_code == status and ("<textarea" in answer.text) == (role == "operator")
            tried = await person.send("/console/rules", {"rules": "guards: []", "since": "7d"})
            assert tried.status_code == (200 if role == "operator" else 403)


async def test_a_change_is_tried_on_recorded_calls_and_changes_nothing(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, **RULES) as (url, app, shop), signed_in(url, app.store) as person:
        await some_calls(url, app)
        written = unescape(
            re.findall(r"<textarea[^>]*>(.*?)</textarea>", await read(person, "/console/rules"), re.DOTALL)[0]
        )
        same = await person.send("/console/rules", {"rules": written, "since": "1d"})
        assert "All 6 calls would end as they did." in same.text
        before, rules, effects = await app.store.length(), app.current.ports.rules, list(shop.effects)
        stricter = written.replace("most: 5", "most: 2")
        page = (await person.send("/console/rules", {"rules": stricter, "since": "1d"})).text
        assert "1 of 6 calls would end differently." in page
        row = cells(page, "refused guard.denied")
        assert (row[0], row[1], row[2]) == ("1", "list_orders", "runs")
        assert "bounds: limit: it is more than 2." in row[3]
        assert "most: 2" in page, "the form keeps what was tried"
        await app.store.flush()
        assert (await app.store.length(), app.current.ports.rules, shop.effects) == (before, rules, effects)
        async with signed_in(url, app.store, roles=frozenset({"operator"})) as operator:
            seen = (await operator.send("/console/rules", {"rules": stricter, "since": "1d"})).text
            assert "guard.denied" in seen and "it is more than 2" not in seen, "values are for auditors"


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("guards: [{rule: bounds}]", "needs `fields`"),
        ("guards: [{rule: bouds}]", "bounds"),
        ("guards: [{rule: deny_pattern, pattern: '('}]", "guards"),
        ("guards: [", "Line 2"),
        ("limits: [{calls: none, per: 1m}]", "a whole number is expected"),
        ("upstreams: {x: {url: 'http://x.test'}}", "Only guards, limits and budgets can be tried, not upstreams"),
        ("guards: [{rule: bounds, fields: [a], most: '${HOME}'}]", "Variables are not read here"),
        ("limits: [{calls: '${HOME}', per: 1m}]", "Variables are not read here"),
        ("limits: 'file:/etc/hostname'", "limits: `file:` is not read"),
        ("limits: [{calls: 'exec:hostname', per: 1m}]", "limits.0.calls: `exec:` is not read"),
    ],
)
async def test_wrong_rules_are_named_beside_the_field_and_kept(rules: str, said: str, tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, **RULES) as (url, app, _), signed_in(url, app.store) as person:
        answer = await person.send("/console/rules", {"rules": rules, "since": "7d"})
        page = unescape(answer.text)
        assert answer.status_code == 422 and "would end" not in page
        fault = re.findall(r'id="rules-fault">(.*?)</p>', page, re.DOTALL)
        assert fault and said in fault[0] and f">{rules}</textarea>" in page
        assert str(Path.home()) not in page


async def test_agents_are_listed_with_what_they_did_and_each_has_a_page(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, **RULES) as (url, app, _), signed_in(url, app.store) as person:
        await some_calls(url, app)
        page = await read(person, "/console/agents")
        assert cells(page, ">support-agent<")[1:5] == ["acme", "3", "1", "1"]
        assert "no call lately" in cells(page, ">idle-agent<")[-1]
        one = await read(person, "/console/agents/support-agent?tenant=acme")
        for text in ("Waits for a person", "guard.denied", "key in the configuration", "What it may call"):
            assert text in one, text
        assert cells(one, ">list_orders</strong>")[-1] == "4"
        assert re.search(
            r'<th scope="row">[A-Z][a-z]{2} \d\d</th><td class="number">3</td><td class="number">2</td>', one
        )
        assert "It may call no tool" not in one
        link = re.search(r'href="(/console/agents/https[^"]*)"', page)
        assert link is not None
        eve = await read(person, unescape(link[1]))
        assert "place_order" in eve and "<script>" not in eve.replace("<script src=", "")
        assert (await person.get("/console/agents/nobody")).status_code == 404


async def test_a_tenant_sees_its_own_agents_alone_and_keys_only_who_keeps_them(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, **RULES) as (url, app, _):
        await some_calls(url, app)
        async with signed_in(url, app.store, tenant="evil", roles=frozenset({"viewer"})) as stranger:
            assert "support-agent" not in await read(stranger, "/console/agents")
            for path in ("/console/agents/support-agent", "/console/agents/support-agent?tenant=acme"):
                assert (await stranger.get(path)).status_code == 404
        async with signed_in(url, app.store, tenant="acme", roles=frozenset({"viewer"})) as viewer:
            listed = await read(viewer, "/console/agents")
            assert "support-agent" in listed and "idle-agent" not in listed and "id.test" not in listed
            assert "key in the configuration" not in await read(viewer, "/console/agents/support-agent")


async def test_a_tools_page_answers_what_a_person_asks_about_its_contract(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, **RULES) as (url, app, _), signed_in(url, app.store) as person:
        page = unescape(await read(person, "/console/tools/tool/list_orders"))
        for text in (
            "What a retry does",
            "How it fails",
            "Who may call it",
            "Rules that apply",
            "Callers with a key for it",
        ):
            assert text in page, text
        assert "It reads, and changes nothing." in page and "bounds" in page and "1000 calls in 1m" in page
        assert "limit?: integer" in page, "the arguments, from the tool's own definition"
        roles = frozenset({"viewer"})
        async with signed_in(url, app.store, tenant="acme", roles=roles, scopes=frozenset({"*"})) as viewer:
            seen = await read(viewer, "/console/tools/tool/list_orders")
            assert "What a retry does" in seen and "support-agent" not in seen and "Rules that apply" not in seen


async def test_the_search_finds_ids_first_and_names_by_kind(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, **RULES) as (url, app, _), signed_in(url, app.store) as person:
        await some_calls(url, app)
        page = await read(person, "/console/search?q=order")
        assert page.index(">Tools</h2>") < page.index(">Approvals</h2>")
        assert 'href="/console/tools/tool/place_order"' in page
        assert 'href="/console/agents/support-agent?tenant=acme"' in await read(person, "/console/search?q=SUPPORT-")
        approval = (await app.store.approvals(tenant=None, requester=None, pending_at=None, after=None, limit=1))[0]
        exact = await read(person, f"/console/search?q={approval.id}")
        assert "Exactly this" in exact and f'href="/console/approvals/{approval.id}"' in exact
        assert 'href="/console/audit/2"' in await read(person, "/console/search?q=%232")
        assert 'href="/console/rules"' in await read(person, "/console/search?q=rules")
        assert "Nothing that you may see" in await read(person, "/console/search?q=%3Cb%3Enothing")
        assert "Type an id" in await read(person, "/console/search")


async def test_the_search_shows_nobody_what_their_pages_would_not(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, **RULES) as (url, app, _):
        await some_calls(url, app)
        approval = (await app.store.approvals(tenant="acme", requester=None, pending_at=None, after=None, limit=1))[0]
        async with signed_in(url, app.store, tenant="evil", roles=frozenset({"viewer", "approver"})) as stranger:
            for wanted in ("support", approval.id, "delete o", "0", "1", "2", "3", "rules", "key"):
                page = (await read(stranger, f"/console/search?q={wanted}")).split("<main", 1)[1]
                assert "support-agent" not in page and f"/console/approvals/{approval.id}" not in page
                assert 'href="/console/audit/' not in page or "o-1" not in page
            assert 'href="/console/rules"' not in await read(stranger, "/console/search?q=rules")
        async with signed_in(url, app.store, tenant="acme", roles=frozenset({"viewer"})) as viewer:
            assert 'href="/console/audit/' not in await read(viewer, "/console/search?q=2")


async def test_pages_that_nothing_uses_are_folded_away(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, flow={"mode": "off"}) as (url, app, _), signed_in(url, app.store) as person:
        used, _, folded = (await read(person, "/console/approvals")).partition("Not in use</summary>")
        for name in ("conversations", "connections", "applications"):
            assert f'href="/console/{name}"' not in used and f'href="/console/{name}"' in folded
        assert 'href="/console/rules"' in used


@pytest.mark.parametrize(
    ("path", "form", "kept", "fault"),
    [
        ("/accounts", {"name": "dora", "tenant": "acme"}, ('value="dora"', 'value="acme"'), "roles"),
        ("/keys", {"name": "bot", "kind": "agent", "mode": "test", "scopes": "a b\u202e"},
         ('value="bot"', 'value="a b"'), "scopes"),
        ("/stop", {"scope": "tool", "target": "no_tool", "level": "effects", "reason": "It is wrong."},
         ('value="no_tool"', ">It is wrong.</textarea>", '<option value="effects" selected>'), ""),
    ],
)  # fmt: skip
async def test_a_refused_form_keeps_its_input_and_names_the_fault_beside_the_field(
    path: str, form: dict[str, str], kept: tuple[str, ...], fault: str, tmp_path: Path
) -> None:
    async with shop_gateway(tmp_path) as (url, app, _), signed_in(url, app.store) as person:
        answer = await person.send(f"/console{path}", form)
        assert answer.status_code in (404, 422) and "Nothing was done." in answer.text
        assert f'id="{fault}-fault"' in answer.text or not fault
        assert [one for one in kept if one not in answer.text] == [] and "minItems" not in answer.text
        assert "\u202e" not in answer.text


async def test_a_settlement_without_a_note_keeps_the_finding(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, app, _), signed_in(url, app.store) as person:
        await start(app, "doubtful")
        answer = await person.send("/console/claims/doubtful/settle", {"finding": "failed", "note": " "})
        assert answer.status_code == 422 and 'id="note-fault">Write where you looked' in answer.text
        assert 'value="failed" required checked' in answer.text
