"""The catalogue as each caller may see it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.gateway.api import scene


@pytest.mark.parametrize(
    ("who", "names"),
    [
        ("ci", ["delete_order", "list_orders", "place_order"]),
        ("bot", ["delete_order", "list_orders", "place_order"]),
        ("ann", ["delete_order", "list_orders", "place_order", "read_private_key"]),
        ("bob", ["delete_order", "list_orders", "read_private_key"]),
        ("root", ["delete_order", "list_orders", "place_order", "read_private_key"]),
    ],
)
async def test_a_caller_sees_what_it_could_list(who: str, names: list[str], tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        listed = (await there.get("/api/tools", who)).json
        assert sorted(tool["name"] for tool in listed["tools"]) == names
        assert ("withheld" in listed) is (who == "root")


async def test_a_tool_comes_with_its_risk_and_hints(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        tool = (await there.get("/api/tools/delete_order", "ci")).json
        assert (tool["tier"], tool["risk"], tool["confirmation"]) == ("destructive", "critical", "approver")
        assert tool["hints"]["destructiveHint"] is True
        assert tool["permissions"] == ["orders:admin"]
        assert tool["definition"]["inputSchema"]["properties"].keys() == {"order_id"}
        assert "upstream" not in tool


async def test_operators_read_why_a_tool_is_withheld(tmp_path: Path) -> None:
    async with scene(tmp_path, without_contract="withhold") as there:
        withheld = {one["name"]: one["reason"] for one in (await there.get("/api/tools", "root")).json["withheld"]}
        assert "list_orders" in withheld
        assert "contract" in withheld["list_orders"]
    async with scene(tmp_path) as there:
        withheld = {one["name"]: one["reason"] for one in (await there.get("/api/tools", "root")).json["withheld"]}
        assert "forbidden for agents" in withheld["read_private_key"]
        assert (await there.get("/api/tools/place_order", "root")).json["upstream"] == "shop"


async def test_a_forbidden_tool_and_none_answer_alike(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        forbidden = await there.get("/api/tools/read_private_key", "ci")
        assert forbidden.status == 404
        assert forbidden.json == (await there.get("/api/tools/read_private_kex", "ci")).json
