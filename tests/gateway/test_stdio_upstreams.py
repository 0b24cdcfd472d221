"""Servers that are processes, behind `assent serve`: the configuration starts them, everybody shares them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError

from assent.config.load import load_settings
from assent.contract.yaml_document import write_yaml
from assent.gateway.app import open_gateway
from assent.gateway.status_pages import StatusPages
from support.clients.transports import ERAS, ROOT, Person, connect
from support.servers.loopback_server import serving

ODD = str(ROOT / "tests" / "support" / "servers" / "odd_server.py")


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def configured(folder: Path, **upstreams: object) -> Path:
    caller = {"kind": "agent", "scopes": ["*"], "asks": "person"}
    settings = {
        "upstreams": upstreams,
        "auth": {"anonymous": caller},
        "defaults": {"confirmation": {"critical": "user"}},
    }
    (folder / "assent.yaml").write_text(write_yaml(settings))
    return folder / "assent.yaml"


async def test_a_command_is_started_once_and_governed_for_everybody(era: str, tmp_path: Path) -> None:
    gateway_app = await open_gateway(load_settings(configured(tmp_path, odd={"command": [sys.executable, ODD]})))
    await gateway_app.start()
    person = Person(["accept"])
    try:
        async with serving(gateway_app.app(StatusPages(gateway_app))) as url:
            async with connect(url, era, person) as one, connect(url, era, None) as other:
                listed = {tool.name: tool for tool in (await one.list_tools()).tools}
                first = await one.call_tool("list_things", {})
                second = await other.call_tool("list_things", {})
                gone = await one.call_tool("delete_thing", {})
                waiting = await other.call_tool("delete_thing", {})
                with pytest.raises(MCPError, match="Unknown tool: read_private_key"):
                    await one.call_tool("read_private_key", {})
    finally:
        await gateway_app.stop()
    assert "read_private_key" not in listed
    assert listed["list_things"].annotations.read_only_hint is None  # type: ignore[union-attr]
    assert listed["delete_thing"].annotations.destructive_hint is True  # type: ignore[union-attr]
    assert first.content[0].text == second.content[0].text, "one process"  # type: ignore[union-attr]
    assert gone.content[0].text.endswith(" 1")  # type: ignore[union-attr]
    assert waiting.structured_content["code"] == "confirm.approval_pending"
    assert len(person.asked) == 1


async def test_a_desktop_clients_file_is_a_configuration_and_observes(tmp_path: Path) -> None:
    servers = {"odd one": {"command": sys.executable, "args": [ODD], "env": {"ODD": "1"}}}
    path = tmp_path / "client.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    settings = load_settings(path)
    gateway_app = await open_gateway(settings)
    await gateway_app.start()
    await gateway_app.stop()
    assert settings.mode == "observe"
    assert sorted(gateway_app.current.catalogue.tools)[0] == "delete_thing"


async def test_a_server_gets_no_more_of_our_environment_than_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BILLING_TOKEN", "of-another-upstream")
    seen = tmp_path / "seen.json"
    script = tmp_path / "server.py"
    script.write_text(f"import json, os\nopen({str(seen)!r}, 'w').write(json.dumps(dict(os.environ)))\n")
    settings = load_settings(configured(tmp_path, odd={"command": [sys.executable, str(script)], "env": {"MINE": "1"}}))
    gateway_app = await open_gateway(settings)
    await gateway_app.start()
    await gateway_app.stop()
    environment = json.loads(seen.read_text())
    assert (environment["MINE"], environment["PATH"]) == ("1", os.environ["PATH"])
    assert "BILLING_TOKEN" not in environment
    assert "it exited with code 0" in gateway_app.tools.troubles["odd"]


async def test_a_command_that_cannot_be_started_is_a_trouble_and_the_others_go_on(tmp_path: Path) -> None:
    upstreams = {"odd": {"command": [sys.executable, ODD]}, "gone": {"command": ["no-such-command-at-all"]}}
    gateway_app = await open_gateway(load_settings(configured(tmp_path, **upstreams)))
    await gateway_app.start()
    await gateway_app.stop()
    assert "the command 'no-such-command-at-all' was not found" in gateway_app.tools.troubles["gone"]
    assert "odd_list_things" in gateway_app.current.catalogue.tools
