"""What a box allows, what a refusal says, what the log keeps, and which box a call gets."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from assent.contract.yaml_document import write_yaml
from assent.stores.open import open_store
from sandbox.conftest import World, gateway, twin
from sandbox.test_malicious_twins import sandbox


async def call(client: Any, tool: str, attack: str, world: World) -> Any:
    return await client.call_tool(tool, {"attack": attack, "places": world.places})


def files(world: World, *tools: str, **more: Any) -> dict[str, Any]:
    tools = tools or ("read_text_file", "write_file")
    return {"files": {"command": twin("secure-filesystem-server", *tools), "sandbox": sandbox(world, **more)}}


async def test_a_refusal_names_the_path_and_the_line_and_the_log_keeps_the_broken_promise(
    can_confine: None, world: World
) -> None:
    async with gateway(world.folder, files(world, instances="by_tier")) as (app, client):
        granted = await call(client, "read_text_file", "write_into_granted_for_writing", world)
        outside = await call(client, "read_text_file", "write_outside", world)
        host = await call(client, "read_text_file", "ask_name_server", world)
        connection = await call(client, "read_text_file", "call_home_by_address_of_machine", world)
    store = await open_store(app.settings.store)
    entries = [one.entry for one in await store.entries()]
    await store.close()
    assert granted.structured_content["setting"] == "side_effect: write in the tool's contract"
    assert f"write {world.outside}/planted" in outside.structured_content["detail"]
    assert outside.structured_content["setting"] == f"upstreams.files.sandbox.write: [{world.outside}]"
    assert host.structured_content["setting"] == "upstreams.files.sandbox.hosts: [secret.example.com]"
    assert f"{world.places['address']}:{world.tcp}" in connection.structured_content["detail"]
    broken = [one for one in entries if one.kind == "violation"]
    assert len(broken) == 4
    assert {one.facts["code"] for one in broken} == {"execute.confined"}
    assert any("write_into" not in str(one.values) and "planted" in str(one.values) for one in broken)


async def test_a_read_outside_the_box_is_refused_with_the_path_of_the_call(can_confine: None, world: World) -> None:
    async with gateway(world.folder, files(world)) as (_, client):
        said = await client.call_tool(
            "read_text_file", {"attack": "read_outside", "places": world.places, "path": str(world.outside / "secret")}
        )
    assert said.structured_content["code"] == "execute.confined"
    assert said.structured_content["setting"] == f"upstreams.files.sandbox.read: [{world.outside}]"


async def test_boxes_are_made_on_demand_and_a_guess_opens_none(can_confine: None, world: World) -> None:
    upstreams = files(world, "read_text_file", "write_file", "save_something", instances="by_tier")
    async with gateway(world.folder, upstreams, mode="observe") as (app, client):
        link = app.current.links["files"]
        await call(client, "read_text_file", "read_own_environment", world)
        assert [str(one) for one in link._observers] == ["reads only, no network"]  # type: ignore[union-attr]
        guessed = await call(client, "save_something", "write_into_granted_for_writing", world)
        declared = await call(client, "write_file", "write_into_granted_for_writing", world)
        assert len(link._observers) == 2  # type: ignore[union-attr]
    assert "Nobody has declared its contract" in guessed.structured_content["detail"]
    assert "done" in declared.content[0].text


async def test_one_box_has_what_all_tools_promise_together(can_confine: None, world: World) -> None:
    """With one process for all, a read can write where another tool may; with reads alone, nothing can."""
    async with gateway(world.folder, files(world)) as (_, client):
        shared = await call(client, "read_text_file", "write_into_granted_for_writing", world)
    (world.out / "planted").unlink()
    async with gateway(world.folder, files(world, "read_text_file")) as (_, client):
        alone = await call(client, "read_text_file", "write_into_granted_for_writing", world)
    assert "done" in shared.content[0].text
    assert alone.structured_content["code"] == "execute.confined"
    assert not (world.out / "planted").exists()


async def test_a_tool_that_nobody_declared_does_not_widen_the_shared_box(can_confine: None, world: World) -> None:
    """A server could otherwise list one more tool, and all of its reads could write."""
    async with gateway(world.folder, files(world, "read_text_file", "new_thing")) as (_, client):
        said = await call(client, "read_text_file", "write_into_granted_for_writing", world)
    assert said.structured_content["code"] == "execute.confined"
    command = {"other": {"command": twin("nobody-knows-it", "new_thing"), "sandbox": sandbox(world)}}
    async with gateway(world.folder, command, mode="observe") as (_, client):
        granted = await call(client, "new_thing", "write_into_granted_for_writing", world)
    assert "done" in granted.content[0].text, "without any contract, the operator's grants are the declaration"


async def test_a_server_that_ended_is_started_in_its_box_again(can_confine: None, world: World) -> None:
    async with gateway(world.folder, files(world, instances="by_tier")) as (app, client):
        await call(client, "read_text_file", "write_outside", world)
        upstream = app.current.links["files"].upstream  # type: ignore[union-attr]
        await upstream._stop_process()
        upstream._not_before = 0.0
        again = await call(client, "read_text_file", "append", world)
        stopped = app.state.upstream_status()[0].stopped
    assert again.structured_content["code"] == "execute.confined"
    assert len(stopped) == 2, "what bubblewrap does at a start is not the server's"


async def test_a_server_that_keeps_state_stays_one(can_confine: None, world: World) -> None:
    upstreams = files(world, "browser_navigate", "read_text_file", "write_file", instances="by_tier")
    async with gateway(world.folder, upstreams) as (app, client):
        await call(client, "read_text_file", "read_own_environment", world)
        assert "browser_navigate" in app.current.links["files"].why_one  # type: ignore[union-attr]
        assert len(app.current.links["files"]._stronger) == 0  # type: ignore[union-attr]


async def test_variables_reach_the_box_only_by_name(
    can_confine: None, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANTED", "wanted-value")
    monkeypatch.setenv("LD_PRELOAD", "")
    upstreams = files(world, env=["WANTED"])
    upstreams["files"]["env"] = {"OWN": "own-value", "LD_AUDIT": "/tmp/evil.so"}
    async with gateway(world.folder, upstreams) as (_, client):
        said = (await call(client, "read_text_file", "read_own_environment", world)).content[0].text
    assert "wanted-value" in said and "own-value" in said
    assert "ASSENT_TEST_SECRET" not in said and "LD_" not in said


async def test_named_hosts_are_reached_and_no_others(can_confine: None, world: World) -> None:
    """The name has an address of its own in the box; its bytes come out of our forwarder, to that port alone."""
    script = world.granted / "server.py"
    script.write_text(HOST_SERVER)
    contract = world.folder.parent / "hosts.yaml"
    tools = {"fetch": {"side_effect": "read", "open_world": True}, "look": {"side_effect": "read", "open_world": False}}
    contract.write_text(write_yaml({"tools": tools}))
    chosen = {"mode": "enforce", "hosts": [f"localhost:{world.tcp}", "*.example.com"], "instances": "by_tier"}
    upstreams = {"web": {"command": [sys.executable, str(script)], "sandbox": chosen}}
    async with gateway(world.folder, upstreams, contracts=[str(contract)]) as (_, client):
        good = await client.call_tool("fetch", {"host": "localhost", "port": world.tcp})
        heard = len(world.heard)
        port = await client.call_tool("fetch", {"host": "localhost", "port": world.udp})
        name = await client.call_tool("fetch", {"host": "sub.example.com", "port": 0})
        other = await client.call_tool("fetch", {"host": "example.org", "port": 443})
        closed = await client.call_tool("look", {"host": "localhost", "port": world.tcp})
    assert "connected" in good.content[0].text and heard == 1
    assert port.is_error and other.structured_content["setting"].endswith("hosts: [example.org]")
    assert "127.64.0." in name.content[0].text, "a granted name has an address in the box"
    assert closed.is_error and len(world.heard) == 1


HOST_SERVER = """
import json, socket, sys
def call(host, port):
    if not port:
        return socket.gethostbyname(host)
    socket.create_connection((host, port), timeout=5).recv(1)
    return "connected"
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize":
        info = {"name": "web", "version": "1"}
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    elif message["method"] == "tools/list":
        answer["result"] = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("fetch", "look")]}
    elif message["method"] == "tools/call":
        try:
            text, wrong = call(**message["params"]["arguments"]), False
        except OSError as error:
            text, wrong = repr(error), True
        answer["result"] = {"content": [{"type": "text", "text": text}], "isError": wrong}
    else:
        answer["error"] = {"code": -32601, "message": "Method not found"}
    print(json.dumps(answer), flush=True)
"""


async def test_a_child_ends_with_its_box(can_confine: None, world: World) -> None:
    script = world.granted / "forks.py"
    script.write_text(HOST_SERVER.replace("def call(host, port):", FORKING))
    chosen = {"mode": "enforce", "write": [str(world.out)]}
    upstreams = {"forks": {"command": [sys.executable, str(script)], "sandbox": chosen}}
    async with gateway(world.folder, upstreams, mode="observe") as (_, client):
        await client.call_tool("fetch", {"host": str(world.out / "beat"), "port": 1})
        async with asyncio.timeout(10):
            while not (world.out / "beat").exists():  # noqa: ASYNC110 - another process makes it
                await asyncio.sleep(0.01)
    (world.out / "beat").unlink()
    await asyncio.sleep(0.2)
    assert not (world.out / "beat").exists(), "the child went on after its server had been stopped"


FORKING = """
def call(host, port):
    import os, time
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                open(host, "w").close()
                time.sleep(0.02)
        os._exit(0)
    return "forked"
def unused(host, port):"""


async def test_a_granted_path_that_becomes_a_link_is_not_followed(can_confine: None, world: World) -> None:
    """A tool that may write could otherwise prepare the next start: its folder would become a link out of the box."""
    async with gateway(world.folder, files(world)) as (app, client):
        await call(client, "read_text_file", "read_own_environment", world)
        world.out.rename(world.folder / "old")
        world.out.symlink_to(world.outside)
        upstream = app.current.links["files"].upstream  # type: ignore[union-attr]
        await upstream._stop_process()
        upstream._not_before = 0.0
        said = await call(client, "read_text_file", "write_into_granted_for_writing", world)
    assert said.structured_content["code"] == "execute.unavailable"
    assert not (world.outside / "planted").exists()


async def test_two_servers_that_share_a_folder_keep_their_own_rights(can_confine: None, world: World) -> None:
    reader, writer = (twin("secure-filesystem-server", tool) for tool in ("read_text_file", "write_file"))
    upstreams = {
        "reader": {"command": reader, "sandbox": {"mode": "enforce", "read": [str(world.out)]}},
        "writer": {"command": writer, "sandbox": {"mode": "enforce", "write": [str(world.out)]}},
    }
    async with gateway(world.folder, upstreams, mode="observe") as (_, client):
        reads = await call(client, "reader_read_text_file", "write_into_granted_for_writing", world)
        writes = await call(client, "writer_write_file", "write_into_granted_for_writing", world)
    assert reads.structured_content["code"] == "execute.confined"
    assert "done" in writes.content[0].text and (world.out / "planted").exists()


async def test_children_of_a_gateway_that_is_root_have_no_capabilities_in_any_mode(world: World) -> None:
    script = world.granted / "status.py"
    script.write_text(HOST_SERVER.replace("def call(host, port):", STATUS))
    if sys.platform != "linux" or Path("/proc/self/status").stat().st_uid != 0:
        pytest.skip("the gateway is not root")
    async with gateway(world.folder, {"plain": {"command": [sys.executable, str(script)]}}) as (_, client):
        said = (await client.call_tool("fetch", {"host": "", "port": 1})).content[0].text
    assert "NoNewPrivs:\t1" in said
    assert "CapEff:\t0000000000000000" in said and "CapBnd:\t0000000000000000" in said


STATUS = """
def call(host, port):
    return open("/proc/self/status").read()
def unused(host, port):"""
