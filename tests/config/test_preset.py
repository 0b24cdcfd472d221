"""`preset: recommended`, and what protects a new installation without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from mcp.server import MCPServer

from assent.cli import cli
from assent.config.load import load_settings, parse_settings
from assent.config.model import Settings
from assent.contract.yaml_document import write_yaml
from assent.errors import SettingsError
from assent.gateway.stdio.wrapped_server import WrapRequest, wrapping
from assent.pipeline.guard import guards_of
from support.clients.transports import over_http
from support.decisions.problems import problem
from support.gateway.gateways import gateway, post, rpc, shop_gateway

SERVER = {"command": ["cat"]}


def settings(**given: Any) -> Settings:
    return parse_settings(write_yaml({"upstreams": {"own": SERVER}, **given}))


def rules(given: Settings) -> list[str]:
    return [rule.rule for rule in given.rules()]


def test_the_preset_adds_guards_flow_control_and_the_sandbox() -> None:
    found = settings(preset="recommended")
    assert rules(found) == ["secrets", "block_private_hosts", "sql_read_only", "block_metadata_hosts"]
    assert (found.flow.mode, found.upstreams["own"].sandbox.mode, found.mode) == ("ask", "observe", "enforce")
    plain = settings()
    assert (rules(plain), plain.flow.mode, plain.upstreams["own"].sandbox.mode) == (
        ["block_metadata_hosts"],
        "observe",
        "off",
    )


def test_what_is_written_wins_over_the_preset() -> None:
    own = {"rule": "block_private_hosts", "allow": ["intranet.example.com"]}
    found = settings(
        preset="recommended",
        guards=[own, {"rule": "lengths", "most": 10}],
        flow={"mode": "refuse"},
        upstreams={"own": {**SERVER, "sandbox": "off"}, "far": {"url": "http://127.0.0.1:9/mcp"}},
    )
    assert rules(found)[:4] == ["block_private_hosts", "lengths", "secrets", "sql_read_only"]
    assert (found.flow.mode, found.upstreams["own"].sandbox.mode, found.upstreams["far"].sandbox.mode) == (
        "refuse",
        "off",
        "off",
    )
    assert settings(preset="recommended", flow={"window": "5m"}).flow.mode == "ask"


@pytest.mark.parametrize("preset", ["strict", True, ["recommended"]])
def test_another_preset_is_an_error_with_its_line(preset: Any) -> None:
    with pytest.raises(SettingsError, match="preset"):
        settings(preset=preset)


def test_faults_of_other_settings_are_still_said() -> None:
    with pytest.raises(SettingsError) as error:
        parse_settings("preset: recommended\nguards: 7\nflow: [x]\nupstreams: no\n", "a.yaml")
    assert {fault.field for fault in error.value.faults} >= {"guards", "flow", "upstreams"}


def test_a_wrapped_server_is_observed_under_the_preset(tmp_path: Path) -> None:
    file = tmp_path / "assent.yaml"
    file.write_text("preset: recommended\n")
    assert wrapping(WrapRequest(("cat",), file)).upstreams["cat"].sandbox.mode == "observe"
    assert wrapping(WrapRequest(("cat",), file, sandbox={"mode": "off"})).upstreams["cat"].sandbox.mode == "off"


def test_init_writes_a_commented_file_for_a_team_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert CliRunner().invoke(cli, ["init", "--team"]).exit_code == 0
    found = load_settings(Path("assent.yaml"))
    assert (found.preset, found.mode) == ("recommended", "enforce")
    assert "public_url" not in found.model_fields_set, "links follow `serve --port`"
    assert "use its assent.yaml." in CliRunner().invoke(cli, ["trust", "."]).stderr
    assert "once it has one" in CliRunner().invoke(cli, ["trust", str(tmp_path / "config")]).stderr
    text = Path("assent.yaml").read_text()
    assert text.count("#") > 30 and Path("assent.yaml").stat().st_mode & 0o777 == 0o600
    again = CliRunner().invoke(cli, ["init", "--team"])
    assert "it exists" in str(again.exception) and Path("assent.yaml").read_text() == text
    added = CliRunner().invoke(cli, ["add", "far", "http://127.0.0.1:9/mcp", "--offline"])
    assert added.exit_code == 0, "the folder of a file that Assent wrote is trusted"
    assert CliRunner().invoke(cli, ["init", "--team", "--write"]).exit_code == 2
    assert CliRunner().invoke(cli, ["init"]).exit_code == 2


def uncommented(text: str) -> str:
    """The file with every example in it switched on."""
    lines = [line.removeprefix("#") if line.startswith("#") and line[1:2] not in (" ", "") else line
             for line in text.splitlines()]  # fmt: skip
    lines = [f"  {line[3:]}" if line.startswith("#  ") and ":" in line else line for line in lines]
    return "\n".join("upstreams:" if line == "upstreams: {}" else line for line in lines)


def test_every_example_in_the_teams_file_is_valid(tmp_path: Path) -> None:
    file = tmp_path / "assent.yaml"
    CliRunner().invoke(cli, ["init", "--team", "-c", str(file)])
    text = uncommented(file.read_text()).replace("  guards  ", "# guards").replace("  flow  ", "# flow")
    lines = [line for line in text.splitlines() if not line.startswith(("  guards ", "  sandbox ", "#"))]
    variables = dict.fromkeys(("BILLING_TOKEN", "CI_KEY", "ANN_KEY", "HOOK_SECRET"), "a-long-long-secret")
    found = parse_settings("\n".join(lines), environment=variables)
    assert set(found.upstreams) == {"files", "billing", "linear"} and len(found.auth.api_keys) == 2
    assert found.limits and found.budgets and found.notify and found.policies and found.console.oidc


METADATA = {
    "uri": "http://169.254.169.254/latest/meta-data/",
    "url": "http://2852039166/",
    "base_url": "http://[fd00:ec2::254]/",
    "endpoints": ["https://example.com", "http://metadata.google.internal./computeMetadata/v1/"],
    "host": "fe80::1%eth0",
    "callbackUrl": "http://0xa9.0xfe.0xa9.0xfe\\@example.com/",
}
HONEST = {
    "url": "http://localhost:3000/",
    "uri": "http://10.0.0.7:8080/status",
    "link": "https://ann:secret@example.com/a b",
    "host": "127.0.0.1",
    "address": "1 Main Street, Vienna",
    "server": "metadata-service.example.com",
    "text": "see http://169.254.169.254/",
    "site": "",
    "domain": None,
}


async def call(url: str, arguments: dict[str, Any]) -> str:
    answer = (await post(url, rpc("tools/call", name="fetch_page", arguments=arguments))).json()
    return str(problem(answer["result"]).get("code", "")) if answer["result"].get("isError") else ""


@pytest.fixture
def careless() -> Any:
    server = MCPServer("pages", log_level="ERROR")

    @server.tool()
    def fetch_page(what: dict[str, Any]) -> str:
        """Fetches a page."""
        return "page"

    return server


async def test_metadata_addresses_are_refused_and_other_private_ones_are_not(careless: Any, tmp_path: Path) -> None:
    async with over_http(careless) as upstream:
        async with gateway(tmp_path, {"pages": {"url": upstream}}, contracts=[]) as (url, _):
            refused = {name: await call(url, {"what": {name: value}}) for name, value in METADATA.items()}
            assert set(refused.values()) == {"guard.denied"}, refused
            passed = {name: await call(url, {"what": {name: value}}) for name, value in HONEST.items()}
            assert set(passed.values()) == {""}, passed
        off = {"defaults": {"metadata_addresses": "allow"}}
        async with gateway(tmp_path, {"pages": {"url": upstream}}, contracts=[], **off) as (url, _):
            assert await call(url, {"what": {"uri": METADATA["uri"]}}) == ""


async def test_a_tool_with_a_written_contract_and_one_without_hosts_are_not_concerned(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (_, gateway_app, _shop):
        tools, found = gateway_app.current.catalogue.tools, gateway_app.ports.rules
        assert {name: guards_of(tool, found)["arguments"] for name, tool in tools.items() if tool.written} == {
            "place_order": [],
            "delete_order": [],
        }
        assert guards_of(tools["list_orders"], found)["arguments"] == [], (
            "it costs nothing where no argument names hosts"
        )


def test_roots_keep_paths_inside_and_one_line_switches_that_off() -> None:
    own = {"own": {**SERVER, "roots": ["/srv/files", "~/notes"]}}
    guard = settings(upstreams=own).rules()[0]
    assert guard.rule == "allow_paths"
    assert guard.denies({"path": "/srv/files/a.txt"}) is None
    assert guard.denies({"path": str(Path("~/notes/a").expanduser())}) is None
    for path in ("/etc/passwd", "/srv/files/../../etc/passwd", "../x", "/srv/files-other/x"):
        assert guard.denies({"path": path}) is not None, path
    assert guard.denies({"destination": "/etc/x", "source": "/srv/files/a"}) is not None
    off = settings(upstreams=own, defaults={"paths_outside_roots": "allow"})
    assert rules(off) == ["block_metadata_hosts"]
    assert off.policy_digest() != settings(upstreams=own).policy_digest(), "an approval relies on the roots"


@pytest.mark.parametrize(
    "upstream", [{"url": "http://127.0.0.1:9/mcp", "roots": ["/srv"]}, {**SERVER, "roots": ["srv"]}]
)
def test_roots_are_full_paths_of_servers_on_this_machine(upstream: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        settings(upstreams={"own": upstream})
