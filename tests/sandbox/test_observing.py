"""Observe: nothing is stopped, and what would be is recorded for each tool, with the line to add."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from assent.contract.yaml_document import YamlDocument, write_yaml
from assent.stores.open import open_store
from assent.upstreams.sandbox.link import stored_usage
from assent.upstreams.sandbox.usage import profile_lines
from sandbox.conftest import World, gateway, twin
from sandbox.test_boxes import HOST_SERVER
from support.gateway.wrap_process import ASSENT


def said_by(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*ASSENT, *words], capture_output=True, text=True, timeout=60)


async def observed(world: World, *attacks: str) -> Path:
    """Run attacks at an observed server; returns the configuration."""
    command = twin("secure-filesystem-server", "read_text_file", "save_thing")
    upstreams = {"files": {"command": command, "sandbox": {"mode": "observe", "read": [str(world.granted)]}}}
    async with gateway(world.folder, upstreams, mode="observe") as (_, client):
        for attack in attacks:
            await client.call_tool("read_text_file", {"attack": attack, "places": world.places})
        await client.call_tool("save_thing", {"attack": "write_outside", "places": world.places})
    return world.folder.parent / f"{world.folder.name}-gateway" / "assent.yaml"


async def test_nothing_is_stopped_and_everything_outside_is_recorded_by_tool(
    can_confine: None, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    await observed(world, "read_key", "write_into_granted_for_writing", "call_home", "read_outside", "append")
    assert (world.out / "planted").exists() and world.heard == ["connection"]
    store = await open_store(f"sqlite:///{world.folder.parent}/{world.folder.name}-gateway/assent.db")
    usage = await stored_usage(store, "files")
    await store.close()
    assert usage is not None
    stopped = {str(one) for one in usage.stopped["read_text_file"]}
    assert stopped == {
        f"read {world.home}/.ssh/id_ed25519",
        f"write {world.out}/planted",
        f"reach 127.0.0.1:{world.tcp}",
        f"read {world.outside}/secret",
        f"write {world.granted}/note",
    }
    assert "would be stopped; to allow it: upstreams.files.sandbox.read: " in caplog.text
    assert "guess" in "".join(one for one in profile_lines("files", usage) if "save_thing" in one)


async def test_learn_prints_settings_that_can_be_used(can_confine: None, world: World) -> None:
    file = await observed(world, "read_outside", "write_into_granted_for_writing")
    learned = said_by("sandbox", "learn", "files", "-c", str(file))
    assert learned.returncode == 0, learned.stderr
    settings = YamlDocument(learned.stdout, "learned").value["upstreams"]["files"]["sandbox"]
    assert settings["mode"] == "enforce"
    assert str(world.out) in settings["write"] and str(world.outside) in settings["write"]
    assert "# read_text_file" in learned.stdout


def test_learn_without_observation_says_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "assent.yaml"
    file.write_text("upstreams: {files: {command: [cat]}}\n")
    learned = said_by("sandbox", "learn", "files", "-c", str(file))
    assert learned.returncode == 2 and "sandbox: observe" in learned.stderr


async def test_doctor_says_how_a_server_is_confined_and_what_was_stopped(can_confine: None, world: World) -> None:
    file = await observed(world, "read_key")
    said = said_by("doctor", "-c", str(file), "--offline").stdout
    assert "upstream files: observed, not confined" in said
    assert f"its sandbox stops: read_text_file: read {world.home}/.ssh/id_ed25519" in said


async def test_the_api_and_the_console_show_what_was_stopped(can_confine: None, world: World) -> None:
    command = twin("secure-filesystem-server", "read_text_file")
    upstreams = {"files": {"command": command, "sandbox": {"mode": "enforce"}}}
    async with gateway(world.folder, upstreams) as (app, client):
        await client.call_tool("read_text_file", {"attack": "write_outside", "places": world.places})
        (status,) = app.state.upstream_status()
    assert status.sandbox == "confined: reads only, no network"
    assert status.stopped == (
        f"read_text_file: write {world.outside}/planted; to allow it: upstreams.files.sandbox.write: [{world.outside}]",
    )


def test_verify_names_the_files_and_hosts_that_each_tool_touched(can_confine: None, tmp_path: Path) -> None:
    """Of a server that nobody here wrote: what it does in a call, beside what it answers."""
    script = tmp_path / "server.py"
    script.write_text(HOST_SERVER.replace("def call(host, port):", TOUCHING.format(path=str(tmp_path / "trace.txt"))))
    contract = tmp_path / "contracts.yaml"
    contract.write_text(write_yaml({"tools": {name: {"side_effect": "read"} for name in ("fetch", "look")}}))
    said = said_by("verify", "--contracts", str(contract), "--", sys.executable, str(script)).stdout
    assert f"note: look changed {tmp_path}/trace.txt" in said
    assert "note: look reached 192.0.2.1:9" in said


TOUCHING = """
def call(host="", port=0):
    import contextlib
    open({path!r}, "a").close()
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.connect(("192.0.2.1", 9))
    return "ok"
def unused(host, port):"""
