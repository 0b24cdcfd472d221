"""Callers without credentials are offered the tools of `auth.anonymous.tools` from anywhere, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from assent.config.load import parse_settings
from assent.errors import AssentError
from support.gateway.gateways import CI, HEADERS, configuration, post, rpc, shop_gateway

OFFERED = {
    "anonymous": {"kind": "agent", "scopes": ["*"], "tools": ["list_orders"], "calls_per_minute": 3},
    "api_keys": [{"name": "ci", "key": CI, "kind": "agent", "scopes": ["*"]}],
}
THROUGH_A_PROXY = {"x-forwarded-for": "192.0.2.1"}


async def names(url: str, **headers: str) -> list[str]:
    listed = (await post(url, rpc("tools/list"), **headers)).json()
    return [tool["name"] for tool in listed["result"]["tools"]]


async def test_a_stranger_sees_and_calls_the_named_tool_alone(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, auth=OFFERED) as (url, _, shop):
        assert await names(url, **THROUGH_A_PROXY) == ["list_orders"]
        assert "place_order" in await names(url, authorization=f"Bearer {CI}")
        answered = await post(url, rpc("tools/call", name="list_orders", arguments={"limit": 1}), **THROUGH_A_PROXY)
        assert answered.json()["result"]["structuredContent"] == {"result": ["o-0"]}
        for hidden in ("place_order", "delete_order", "no_such_tool"):
            refused = await post(url, rpc("tools/call", name=hidden, arguments={}), **THROUGH_A_PROXY)
            assert refused.json()["error"] == {"code": -32602, "message": f"Unknown tool: {hidden}"}
        assert shop.effects == []


@pytest.mark.parametrize("method", ["resources/list", "resources/read", "prompts/list", "completion/complete", "x/y"])
async def test_nothing_beside_tools_is_passed_on_for_a_stranger(method: str, tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, auth=OFFERED) as (url, _, _shop):
        refused = await post(url, rpc(method, uri="memo://x"))
        assert refused.status_code == 401
        async with httpx2.AsyncClient(timeout=60) as client:
            assert (await client.get(url, headers=HEADERS)).status_code == 405
            for page in ("api/approvals", "api/tools", "api/audit"):
                assert (await client.get(f"{url.removesuffix('mcp')}{page}")).status_code == 401


async def test_strangers_together_are_limited_and_known_callers_are_not(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, auth=OFFERED) as (url, _, _shop):

        async def call(**headers: str) -> Any:
            body = rpc("tools/call", name="list_orders", arguments={"limit": 1})
            return (await post(url, body, **headers)).json()["result"]

        answers = [await call(**{"x-forwarded-for": f"192.0.2.{number}"}) for number in range(5)]
        assert [bool(answer.get("isError")) for answer in answers] == [False, False, False, True, True]
        assert "rate_limited" in str(answers[-1])
        assert not any([(await call(authorization=f"Bearer {CI}")).get("isError") for _ in range(5)])


@pytest.mark.parametrize("rights", [{"roles": ["approver"]}, {"kind": "human"}])
def test_strangers_decide_nothing(rights: dict[str, Any], tmp_path: Path) -> None:
    anonymous = {"kind": "agent", "tools": ["list_orders"], **rights}
    with pytest.raises(AssentError, match="come from anywhere"):
        parse_settings(configuration(tmp_path, {}, auth={"anonymous": anonymous}))
