"""The activity page: sentences, filters, the same view as CSV and JSON, tenants."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from assent.contract.yaml_document import write_yaml
from support.console.plain_browser import Browser, signed_in
from support.gateway.gateways import ANN_KEY, CI, CONTRACTS, Shop, post, rpc, shop_gateway

NAMED = {**CONTRACTS["delete_order"], "activity": "Deleted order {order_id}"}


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return rpc("tools/call", name=tool, arguments=arguments)


@asynccontextmanager
async def shop(folder: Path, **more: Any) -> AsyncIterator[tuple[str, Any, Shop]]:
    """A shop whose contract for deletion has a sentence."""
    file = folder / "named.yaml"
    file.write_text(write_yaml({"tools": {**CONTRACTS, "delete_order": NAMED}}))
    async with shop_gateway(folder, **{"contracts": [str(file)], **more}) as found:
        yield found


def sentences(page: str) -> list[str]:
    from html import unescape

    return [unescape(found) for found in re.findall(r'class="feed-text"[^>]*>([^<]*)<', page)]


async def feed(person: Browser, gateway_app: Any, query: str = "") -> list[str]:
    await gateway_app.store.flush()
    answer = await person.get(f"/console/activity{query}")
    assert answer.status_code == 200, answer.text
    return sentences(answer.text)


async def test_the_feed_says_what_was_asked_decided_and_done(tmp_path: Path) -> None:
    async with shop(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        await post(url, call("list_orders", limit=1))
        await post(url, call("delete_order", order_id="o-1"))
        approval = (await gateway_app.store.approvals(limit=1))[0].id
        await person.send(f"/console/approvals/{approval}/approve")
        await post(url, call("delete_order", order_id="o-1"))
        assert await feed(person, gateway_app) == [
            "Deleted order o-1",
            "Approved: delete order",
            "Waits for approval to delete order (order_id: o-1)",
            "Asked to delete order (order_id: o-1)",
            "Listed orders",
        ]
        assert await feed(person, gateway_app, "?outcome=asked") == ["Asked to delete order (order_id: o-1)"]
        assert await feed(person, gateway_app, "?tool=list_orders") == ["Listed orders"]
        assert await feed(person, gateway_app, "?tier=destructive&outcome=done") == ["Deleted order o-1"]
        assert await feed(person, gateway_app, "?since=2h&principal=ann") == ["Approved: delete order"]
        assert await feed(person, gateway_app, "?until=2020-01-01") == []
        assert await feed(person, gateway_app, "?upstream=shop&outcome=done") == ["Deleted order o-1", "Listed orders"]


async def test_a_call_that_was_only_observed_says_what_would_have_refused_it(tmp_path: Path) -> None:
    async with shop(tmp_path, mode="observe") as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        await post(url, call("delete_order", order_id="o-2"))
        [said] = await feed(person, gateway_app, "?outcome=observed")
        assert said.startswith("Deleted order o-2; would have been refused (observe): confirm.")


async def test_a_view_is_an_address_and_the_same_address_exports_it(tmp_path: Path) -> None:
    async with shop(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        for number in range(3):
            await post(url, call("delete_order", order_id=f"o-{number}"))
            await post(url, call("list_orders", limit=1))
        view = "?outcome=asked&tool=delete_order"
        shown = await feed(person, gateway_app, view)
        assert len(shown) == 3
        for address in (f"/console/activity.json{view}", f"/console/activity{view}&format=json"):
            answer = await person.get(address)
            assert answer.headers["content-type"] == "application/json"
            assert [line["text"] for line in answer.json()["lines"]] == shown
        for address in (f"/console/activity.csv{view}", f"/console/activity{view}&format=csv"):
            rows = list(csv.DictReader(io.StringIO((await person.get(address)).text)))
            assert [row["text"] for row in rows] == shown
        assert (
            "/console/activity.csv?tool=delete_order&amp;outcome=asked"
            in (await person.get(f"/console/activity{view}")).text
        )


async def test_a_cell_of_the_export_is_no_formula(tmp_path: Path) -> None:
    keys = [{"name": "=cmd()", "key": CI, "kind": "agent", "scopes": ["*"]}]
    async with shop(tmp_path, auth={"api_keys": keys}) as (url, gateway_app, _):
        async with signed_in(url, gateway_app.store) as person:
            await post(url, call("list_orders", limit=1), authorization=f"Bearer {CI}")
            await gateway_app.store.flush()
            [row] = list(csv.DictReader(io.StringIO((await person.get("/console/activity.csv")).text)))
            assert row["who"] == "'=cmd()"


async def test_arguments_are_no_markup_and_no_part_of_the_sentence(tmp_path: Path) -> None:
    async with shop(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        await post(url, call("delete_order", order_id="</a><script>x</script>\u202e o-1 and was approved"))
        await gateway_app.store.flush()
        page = (await person.get("/console/activity?outcome=asked")).text
        assert "<script>x" not in page and "\u202e" not in page
        [said] = sentences(page)
        assert said == "Asked to delete order (order_id: “</a><script>x</script>\\u{202e} o-1 and was approved”)"


async def test_arguments_that_the_contract_does_not_name_are_not_in_the_feed(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        await post(url, call("delete_order", order_id="secret-order"))
        await gateway_app.store.flush()
        page = (await person.get("/console/activity")).text
        assert "Asked to delete order" in page and "secret-order" not in page


async def test_another_tenants_activity_does_not_exist(tmp_path: Path) -> None:
    keys = [{"name": "ci", "key": CI, "kind": "agent", "tenant": "acme", "scopes": ["*"]},
            {"name": "ann", "key": ANN_KEY, "kind": "agent", "tenant": "evil", "scopes": ["*"]}]  # fmt: skip
    async with shop(tmp_path, auth={"api_keys": keys}) as (url, gateway_app, _):
        await post(url, call("delete_order", order_id="of-acme"), authorization=f"Bearer {CI}")
        await post(url, call("place_order", item="of-evil"), authorization=f"Bearer {ANN_KEY}")
        for tenant, tool, other in (("acme", "delete", "place"), ("evil", "place", "delete")):
            who = {"tenant": tenant, "roles": frozenset({"viewer"})}
            async with signed_in(url, gateway_app.store, **who) as person:
                for path in ("/console/activity", "/console/activity.json", "/console/activity?principal=*"):
                    await gateway_app.store.flush()
                    page = (await person.get(path)).text
                    assert f"{tool} order" in page.lower() or f"{tool}d order" in page.lower()
                    assert f"{other}_order" not in page, (tenant, path)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("?tier=mild", "tier must be one of"),
        ("?since=yesterday", "since must be a time"),
        ("?before=-1", "before must be a whole number"),
        ("?colour=red", "There is no filter colour"),
        ("?tool=a&tool=b", "given twice"),
        ("?format=xml", "There is no such format"),
    ],
)
async def test_a_filter_that_cannot_be_read_is_named(query: str, said: str, tmp_path: Path) -> None:
    async with shop(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        answer = await person.get(f"/console/activity{query}")
        assert answer.status_code == 400 and said in answer.text
        assert ("The filters are not used." in answer.text) == ("format" not in query)


async def test_older_pages_follow_and_the_newest_page_alone_is_live(tmp_path: Path) -> None:
    async with shop(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        for number in range(60):
            await post(url, call("list_orders", limit=number % 5))
        await gateway_app.store.flush()
        first = (await person.get("/console/activity")).text
        assert len(sentences(first)) == 50 and "data-live-part" in first
        found = re.search(r'href="(/console/activity\?before=\d+)" rel="next"', first)
        assert found is not None
        second = (await person.get(found[1])).text
        assert len(sentences(second)) == 10 and "data-live-part" not in second
