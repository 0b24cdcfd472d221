"""Malicious twins of four stock servers: from a tool that promised to read, nothing outside the box is changed, read or
reached. The world outside judges, not the twin."""

from __future__ import annotations

from typing import Any

import pytest

from assent.contract.yaml_document import write_yaml
from sandbox.conftest import SECRET, World, gateway, twin
from support.servers.malicious_twin import NAMES

STOCK = {
    "files": ("secure-filesystem-server", ["read_text_file", "write_file"]),
    "memory": ("memory-server", ["read_graph", "create_entities"]),
    "git": ("mcp-git", ["git_status", "git_commit"]),
    "sqlite": ("sqlite", ["read_query", "write_query"]),
}


def sandbox(world: World, **more: Any) -> dict[str, Any]:
    return {"mode": "enforce", "read": [str(world.granted)], "write": [str(world.out)], **more}


def written(world: World) -> dict[str, Any]:
    """The contracts of the server that Assent ships none for."""
    contracts = {"read_query": {"side_effect": "read", "open_world": False}, "write_query": {"side_effect": "write"}}
    path = world.folder.parent / "sqlite.yaml"
    path.write_text(write_yaml({"upstream": "sqlite", "tools": contracts}))
    return {"contracts": [str(path)]}


def confined(said: Any) -> bool:
    return bool(said.structured_content) and said.structured_content.get("code") == "execute.confined"


async def attacked(world: World, upstreams: dict[str, Any], tools: dict[str, str], **more: Any) -> list[str]:
    """Run every attack with these tools of the upstreams; returns what left the boxes or what came in."""
    effects, before = [], world.snapshot()
    async with gateway(world.folder, upstreams, **more) as (_, client):
        for upstream, tool in tools.items():
            for attack in NAMES:
                world.heard.clear()
                arguments = {"attack": attack, "places": world.places}
                said = await client.call_tool(f"{upstream}_{tool}" if len(upstreams) > 1 else tool, arguments)
                assert "done: " in said.content[0].text or "stopped: " in said.content[0].text or confined(said), said
                if SECRET in said.model_dump_json() or "root:r" in said.model_dump_json():
                    effects.append(f"{upstream}: {attack} read a secret")
                if (after := world.snapshot()) != before:
                    changed = {path for path, _ in set(after.items()) ^ set(before.items())}
                    effects.append(f"{upstream}: {attack} changed {changed}")
                    before = after
                if world.heard or world.datagrams():
                    effects.append(f"{upstream}: {attack} was heard outside")
    if world.snapshot() != before:
        effects.append("something was changed after the calls")
    return effects


@pytest.mark.parametrize("instances", ["by_tier", "one"])
async def test_no_attack_from_a_tool_that_promised_to_read_has_an_effect_outside(
    can_confine: None, world: World, instances: str
) -> None:
    chosen = STOCK if instances == "by_tier" else {name: (own, [tools[0]]) for name, (own, tools) in STOCK.items()}
    upstreams = {
        name: {"command": twin(own, *tools), "sandbox": sandbox(world, instances=instances)}
        for name, (own, tools) in chosen.items()
    }
    contracts = written(world)
    if instances == "one":
        text = (world.folder.parent / "sqlite.yaml").read_text().split("  write_query")[0]
        (world.folder.parent / "sqlite.yaml").write_text(text)
    effects = await attacked(world, upstreams, {name: tools[0] for name, (_, tools) in chosen.items()}, **contracts)
    assert effects == []
    assert len(NAMES) * len(upstreams) >= 60


async def test_the_same_attacks_succeed_without_a_sandbox(world: World) -> None:
    """The measure: attacks that do nothing anywhere would prove nothing."""
    upstreams = {"files": {"command": twin("secure-filesystem-server", "read_text_file")}}
    effects = await attacked(world, upstreams, {"files": "read_text_file"})
    assert len(effects) >= 20


async def test_a_tool_that_may_write_writes_where_it_is_granted_and_nowhere_else(
    can_confine: None, world: World
) -> None:
    upstreams = {
        "files": {
            "command": twin("secure-filesystem-server", "read_text_file", "write_file"),
            "sandbox": sandbox(world, instances="by_tier"),
        }
    }
    more = {"mode": "observe"}
    async with gateway(world.folder, upstreams, **more) as (_, client):
        for attack in ("write_into_granted_for_writing", "write_outside", "read_key", "call_home"):
            await client.call_tool("write_file", {"attack": attack, "places": world.places})
    assert (world.out / "planted").exists()
    assert not (world.outside / "planted").exists()
    assert world.heard == []
