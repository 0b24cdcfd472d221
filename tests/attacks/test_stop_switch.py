"""Ways around a stop switch: other messages, old answers, observing, and switches an agent sets itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assent.core.principal import Principal
from support.gateway.api import scene
from support.gateway.gateways import post, rpc, shop_gateway

ROOT = Principal("root", "human", roles=frozenset({"operator"}))


async def stop(gateway_app: Any, scope: str, target: str = "", level: str = "all") -> None:
    await gateway_app.runtime.stop_switches.stop(ROOT, scope, target, "", level, "an incident", 1.0)


@pytest.mark.parametrize("method", ["resources/list", "resources/read", "prompts/get", "completion/complete"])
@pytest.mark.parametrize(("scope", "target"), [("everything", ""), ("principal", "anonymous"), ("upstream", "shop")])
async def test_a_stopped_caller_reads_no_resources_and_prompts_either(
    method: str, scope: str, target: str, tmp_path: Path
) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        await stop(gateway_app, scope, target)
        answer = (await post(url, rpc(method, uri="a://b", name="x"))).json()
        assert answer["error"]["data"]["code"] == "authorize.stopped"
        assert "an incident" in answer["error"]["message"]


async def test_a_caller_that_is_stopped_from_effects_alone_reads_on(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        await stop(gateway_app, "everything", level="effects")
        assert "stopped" not in (await post(url, rpc("resources/list"))).text


async def test_an_agent_with_the_role_operator_neither_stops_nor_releases(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        body = {"scope": "principal", "target": "ann", "reason": "she says no too often"}
        assert (await there.post("/api/switches", "bot", body)).code == "api.not_entitled"
        made = await there.post("/api/switches", "root", {"scope": "everything", "reason": "an incident"})
        for step in ("ease", "release"):
            path = f"/api/switches/{made.json['id']}/{step}"
            assert (await there.post(path, "bot", {"reason": "let me through"})).code == "api.not_entitled"
