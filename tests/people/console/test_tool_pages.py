"""Tools by safety, one tool's page, and definitions to accept or keep withheld."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from assent.config.lock_file import load_pins
from assent.core.pins import pins_of, pins_text
from assent.gateway.app import GatewayApp
from support.console.plain_browser import Browser, signed_in
from support.gateway.api import scene
from support.gateway.gateways import Shop, post, rpc, shop_gateway


@asynccontextmanager
async def pinned_shop(folder: Path) -> AsyncIterator[tuple[str, GatewayApp, Shop, Path]]:
    """A gateway whose lock file accepts a shop that lists other definitions than the ones accepted."""
    lock = folder / "assent.lock"
    async with shop_gateway(folder) as (_, gateway_app, _):
        definitions = [dict(one) for one in gateway_app.current.served.pinned(gateway_app.current.links)["shop"][0]]
    by_name = {one["name"]: one for one in definitions}
    by_name["list_orders"] = {**by_name["list_orders"], "description": "Lists all orders."}
    place = by_name["place_order"]
    by_name["place_order"] = {**place, "annotations": {"readOnlyHint": True}, "description": "Looks up an order."}
    del by_name["delete_order"]
    lock.write_text(pins_text({"shop": pins_of(by_name.values())}))
    async with shop_gateway(folder, pins=str(lock)) as (url, gateway_app, shop):
        yield url, gateway_app, shop, lock


def choices(page: str) -> list[str]:
    return [unescape(one) for one in re.findall(r'name="choice" value="([^"]*)"', page)]


async def send_choices(person: Browser, path: str, chosen: list[str], **more: str) -> Any:
    token = await person.token("/console/tools/changes")
    form: dict[str, Any] = {"csrf": token, "choice": chosen, **more}
    return await person.post(path, form)


async def test_tools_are_listed_by_risk_with_filters_in_the_address(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        page = (await person.get("/console/tools")).text
        assert page.index(">delete_order<") < page.index(">list_orders<")
        for query, there, gone in (
            ("tier=read", "list_orders", "place_order"),
            ("risk=critical", "delete_order", "list_orders"),
            ("confirmation=approver", "delete_order", "list_orders"),
            ("upstream=shop&name=PLACE", "place_order", "list_orders"),
            ("used=never", "list_orders", "read_private_key</strong></a></td>"),
        ):
            shown = (await person.get(f"/console/tools?{query}")).text
            assert f">{there}<" in shown and f">{gone}<" not in shown, query
        assert "No tool fits" in (await person.get("/console/tools?upstream=none")).text
        assert (await person.get("/console/tools?tier=huge")).status_code == 400


async def test_a_used_tool_is_found_by_its_last_use(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        await post(url, rpc("tools/call", name="list_orders", arguments={}))
        await gateway_app.store.flush()
        used = (await person.get("/console/tools?used=day")).text
        assert ">list_orders<" in used and ">place_order<" not in used


async def test_withheld_tools_say_why_to_operators_alone(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, without_contract="withhold") as (url, gateway_app, _):
        async with signed_in(url, gateway_app.store) as person:
            assert "it has no contract" in (await person.get("/console/tools?state=withheld")).text
            page = await person.get("/console/tools/tool/list_orders")
            assert page.status_code == 200 and "Withheld: it has no contract" in page.text
        roles = frozenset({"viewer"})
        async with signed_in(url, gateway_app.store, roles=roles, scopes=frozenset({"*"})) as viewer:
            assert "it has no contract" not in (await viewer.get("/console/tools?state=withheld")).text
            assert (await viewer.get("/console/tools/tool/list_orders")).status_code == 404
            seen = await viewer.get("/console/tools/tool/place_order")
            assert seen.status_code == 200 and "Hints by profile" not in seen.text


async def test_a_tools_page_shows_contract_hints_and_hosts(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        page = unescape((await person.get("/console/tools/tool/delete_order")).text)
        assert "approvers approve" in page
        for text in ("What hosts do with it", "Claude", "Hints by profile", "openai", "What it does"):
            assert text in page
        assert (await person.get("/console/tools/tool/nothing")).status_code == 404


async def test_changed_definitions_are_graded(tmp_path: Path) -> None:
    async with pinned_shop(tmp_path) as (url, gateway_app, _, _), signed_in(url, gateway_app.store) as person:
        page = (await person.get("/console/tools/changes")).text
        assert len(choices(page)) == 3
        cards = {
            name: page.split(f"shop: {name}</strong>")[1].split("</section>")[0]
            for name in ("list_orders", "place_order", "delete_order")
        }
        assert '<span class="badge ">wording</span>' in cards["list_orders"]
        assert "<del> all</del>" in cards["list_orders"]
        assert '<span class="badge bad">effect</span>' in cards["place_order"]
        assert "/annotations" in cards["place_order"]
        assert "Nobody has accepted this tool yet" in cards["delete_order"]


async def test_a_reviewed_definition_is_accepted_into_the_lock_file_and_served(tmp_path: Path) -> None:
    async with pinned_shop(tmp_path) as (url, gateway_app, _, lock), signed_in(url, gateway_app.store) as person:
        assert gateway_app.current.catalogue.find("list_orders") is None
        one = [each for each in choices((await person.get("/console/tools/changes")).text) if "list_orders" in each]
        review = await send_choices(person, "/console/tools/changes/review", one)
        assert review.status_code == 200 and choices(review.text) == one
        assert gateway_app.current.catalogue.find("list_orders") is None
        done = await send_choices(person, "/console/tools/changes/accept", one)
        assert done.status_code == 303
        assert gateway_app.current.catalogue.find("list_orders") is not None
        assert gateway_app.current.catalogue.find("place_order") is None
        pins = load_pins(lock)
        assert pins is not None
        assert pins["shop"]["list_orders"].definition["description"] == "Lists orders."
        assert pins["shop"]["place_order"].definition["description"] == "Looks up an order."
        events = [one.entry.facts.get("event") for one in await gateway_app.store.entries()]
        assert "definition.accepted" in events
        again = await send_choices(person, "/console/tools/changes/accept", one)
        assert again.status_code == 404


async def test_all_changes_are_accepted_at_once(tmp_path: Path) -> None:
    async with pinned_shop(tmp_path) as (url, gateway_app, _, _), signed_in(url, gateway_app.store) as person:
        every = choices((await person.get("/console/tools/changes")).text)
        assert (await send_choices(person, "/console/tools/changes/accept", every)).status_code == 303
        assert len(gateway_app.current.catalogue.tools) == 4
        assert "as it was accepted" in (await person.get("/console/tools/changes")).text


async def test_a_definition_that_changed_while_it_was_shown_is_not_accepted(tmp_path: Path) -> None:
    async with pinned_shop(tmp_path) as (url, gateway_app, _, lock), signed_in(url, gateway_app.store) as person:
        before = lock.read_text()
        every = choices((await person.get("/console/tools/changes")).text)
        stale = [one.rpartition("\x1f")[0] + "\x1fsha256:" + "0" * 64 for one in every]
        assert (await send_choices(person, "/console/tools/changes/accept", [every[0], *stale])).status_code == 409
        assert (await send_choices(person, "/console/tools/changes/review", stale)).status_code == 409
        assert (await send_choices(person, "/console/tools/changes/accept", ["x"])).status_code == 400
        assert (await send_choices(person, "/console/tools/changes/accept", [])).status_code == 422
        assert lock.read_text() == before


async def test_a_definition_is_kept_withheld_with_a_reason(tmp_path: Path) -> None:
    async with pinned_shop(tmp_path) as (url, gateway_app, _, lock), signed_in(url, gateway_app.store) as person:
        before = lock.read_text()
        one = [each for each in choices((await person.get("/console/tools/changes")).text) if "place_order" in each]
        assert (await send_choices(person, "/console/tools/changes/keep", one)).status_code == 422
        done = await send_choices(person, "/console/tools/changes/keep", one, reason="claims to be a read")
        assert done.status_code == 303
        page = unescape((await person.get("/console/tools/changes")).text)
        assert "Kept withheld by ann" in page and "claims to be a read" in page
        assert (lock.read_text(), gateway_app.current.catalogue.find("place_order")) == (before, None)


@pytest.mark.parametrize("role", ["viewer", "approver", "auditor", "admin"])
async def test_only_operators_decide_on_definitions(role: str, tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        async with signed_in(url, gateway_app.store, roles=frozenset({role})) as other:
            assert (await other.get("/console/tools/changes")).status_code == 403
            for action in ("review", "accept", "keep"):
                answer = await other.send(f"/console/tools/changes/{action}", {"choice": "a\x1fb\x1fc", "reason": "x"})
                assert answer.status_code == 403


async def test_the_api_lists_and_decides_definitions_for_operators_alone(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        for who in ("ci", "bot", "ann", "cron"):
            assert (await there.get("/api/definitions", who)).code == "api.not_entitled"
        assert (await there.get("/api/definitions", "root")).json == {
            "definitions": [],
            "pinned": False,
            "first_sight": True,
        }
        nothing = {"accept": [{"upstream": "shop", "tool": "list_orders", "digest": "x"}]}
        assert (await there.post("/api/definitions/accept", "root", nothing)).code == "api.unknown"
        found = (await there.get("/api/tools?tier=read&limit=1", "root")).json
        assert len(found["tools"]) == 1
        shown = (await there.get("/api/tools/place_order", "root")).json
        assert {"contract_text", "profiles", "hosts"} <= shown.keys()
