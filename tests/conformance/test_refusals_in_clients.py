"""The official TypeScript clients and the Inspector see why a call of a tool with an output schema was not made."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from assent.contract.yaml_document import write_yaml
from support.clients.transports import ROOT
from support.conformance.programs import MISSING, inspect, run_client
from support.gateway.gateways import shop_gateway
from support.gateway.wrap_process import ASSENT

pytestmark = pytest.mark.skipif(MISSING, reason="the test programs are missing: run .ci/install-node-tools")

CONTRACTS = {"place_order": {"side_effect": "external_spend", "confirmation": {"by": "approver"}}}
EDGES = ["gateway", "wrap", "library", "fastmcp"]


async def run(edge: str, folder: Path, version: str, arguments: dict[str, Any], monkeypatch: Any) -> dict[str, Any]:
    """What one client prints of one call of `place_order` at one edge."""
    monkeypatch.setenv("SHOP_STORE", f"sqlite:///{folder}/shop.db")
    monkeypatch.setenv("SHOP_LOG", str(folder / "shop.log"))
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    if edge == "gateway":
        async with shop_gateway(folder) as (url, _, _):
            return await asyncio.to_thread(run_client, version, "place_order", arguments, "http", url)
    scripts = {"library": "server.py", "fastmcp": "fastmcp_server.py"}
    command = [sys.executable, str(ROOT / "examples" / "shop" / scripts[edge])] if edge in scripts else wrapped(folder)
    return await asyncio.to_thread(run_client, version, "place_order", arguments, "stdio", *command)


def wrapped(folder: Path) -> list[str]:
    contracts, configuration = folder / "contracts.yaml", folder / "assent.yaml"
    contracts.write_text(write_yaml({"tools": CONTRACTS}))
    said = {"mode": "enforce", "store": f"sqlite:///{folder}/assent.db", "contracts": [str(contracts)]}
    configuration.write_text(write_yaml({**said, "secrets": {"directory": str(folder / "keys")}}))
    server = Path(__file__).parents[1] / "support" / "conformance" / "order_server.py"
    return [*ASSENT, "wrap", "-c", str(configuration), "--", sys.executable, str(server)]


def problem_of(result: dict[str, Any]) -> dict[str, Any]:
    """The problem in `_meta`, which the text repeats after its sentence."""
    assert result["isError"] is True
    assert "structuredContent" not in result
    sentence, whole = (block["text"] for block in result["content"])
    problem: dict[str, Any] = result["_meta"]["dev.assent/problem"]
    assert sentence == f"{problem['detail']} {problem['remedy']}"
    assert json.loads(whole) == problem
    return problem


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("edge", EDGES)
async def test_a_typescript_client_sees_a_pending_approval(
    edge: str, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = await run(edge, tmp_path, version, {"item": "print"}, monkeypatch)
    assert said["listed"]["outputSchema"]["type"] == "object"
    problem = problem_of(said["result"])
    assert problem["code"] == "confirm.approval_pending"
    assert problem["approval"]


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("edge", EDGES)
async def test_a_typescript_client_sees_which_argument_is_wrong(
    edge: str, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = await run(edge, tmp_path, version, {"item": 7}, monkeypatch)
    problem = problem_of(said["result"])
    assert problem["code"] == "validate.arguments_invalid"
    assert problem["errors"][0]["field"] == "/item"


async def test_the_inspector_sees_a_pending_approval(tmp_path: Path) -> None:
    called = ["--method", "tools/call", "--tool-name", "place_order", "--tool-arg", "item=print"]
    async with shop_gateway(tmp_path) as (url, _, _):
        result = await asyncio.to_thread(inspect, url, *called, refused=True)
    assert problem_of(result)["code"] == "confirm.approval_pending"
