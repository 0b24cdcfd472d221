"""The gateway as a command: what it says on standard error."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from assent.cli import cli
from assent.cli.serve_process import check_bind, has_no_credentials
from assent.config.load import parse_settings
from assent.contract.yaml_document import YamlDocument, write_yaml
from assent.errors import SettingsError, StoreError
from assent.stores.memory import MemoryStore
from support.clients.transports import over_http
from support.decisions.problems import problem
from support.gateway.gateways import Shop, configuration, post, rpc
from support.processes.servers import commanded


async def test_observing_ends_with_a_summary_of_what_enforcing_would_have_stopped(tmp_path: Path) -> None:
    async with over_http(Shop().server) as shop:
        file = tmp_path / "assent.yaml"
        file.write_text(configuration(tmp_path, {"shop": {"url": shop}}, mode="observe"))
        async with commanded("serve", "-c", str(file), "--port", "0", "--log-format", "json") as command:
            url = (await command.said(r"at (http\S+/mcp)"))[1]
            for number in range(3):
                await post(url, rpc("tools/call", name="delete_order", arguments={"order_id": str(number)}))
            await post(url, rpc("tools/call", name="list_orders", arguments={}))
            command.process.send_signal(signal.SIGTERM)
            await command.said("Observed 4 calls. Enforce mode would have stopped:")
            await command.said("     3  delete_order  confirm.confirmation_required")
            await command.said("Stopped")


def test_explaining_a_call_says_that_it_would_only_be_observed(tmp_path: Path) -> None:
    file = tmp_path / "assent.yaml"
    file.write_text(configuration(tmp_path, {}, mode="observe"))
    request = json.dumps({"tool": "delete_order", "arguments": {}, "principal": {"kind": "agent", "scopes": ["*"]}})
    result = CliRunner().invoke(cli, ["decide", "-c", str(file)], input=request)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == (
        "answer (observe mode; enforcing would stop it: confirm.confirmation_required)"
    )


@pytest.mark.parametrize("wrong", [{"upstreams": {}}, {"nonsense": 1}])
def test_a_configuration_that_does_not_hold_is_refused_with_a_reason(wrong: dict[str, object], tmp_path: Path) -> None:
    file = tmp_path / "assent.yaml"
    settings = YamlDocument(configuration(tmp_path, {"dead": {"url": "http://127.0.0.1:9/mcp"}})).value
    file.write_text(write_yaml(settings | wrong))
    result = CliRunner().invoke(cli, ["serve", "-c", str(file), "--check"])
    assert isinstance(result.exception, SettingsError)
    assert next(iter(wrong)) in str(result.exception)


def checked(tmp_path: Path, *options: str, **more: object) -> Result:
    file = tmp_path / "assent.yaml"
    file.write_text(configuration(tmp_path, {"dead": {"url": "http://127.0.0.1:9/mcp"}}, **more))
    return CliRunner().invoke(cli, ["serve", "-c", str(file), "--check", *options])


def test_a_check_makes_and_changes_nothing(tmp_path: Path) -> None:
    result = checked(tmp_path)
    assert result.exit_code == 0 and result.stderr.endswith("The configuration is valid.\n")
    assert "upstream dead did not answer" in result.stderr and "the contract place_order" in result.stderr
    assert {file.name for file in tmp_path.iterdir()} == {"assent.yaml", "contracts.yaml"}


def test_a_check_that_asks_for_keys_makes_no_store_to_look_into(tmp_path: Path) -> None:
    result = checked(tmp_path, "--host", "0.0.0.0", auth={})
    assert isinstance(result.exception, SettingsError) and "0.0.0.0" in str(result.exception)
    assert {file.name for file in tmp_path.iterdir()} == {"assent.yaml", "contracts.yaml"}


def test_a_check_finds_a_store_that_cannot_be_used(tmp_path: Path) -> None:
    missing = checked(tmp_path, store="sqlite:///nowhere/assent.db")
    assert isinstance(missing.exception, StoreError) and "nowhere does not exist" in str(missing.exception)
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE theirs (id INTEGER)")
    foreign = checked(tmp_path, store="sqlite:///other.db")
    assert isinstance(foreign.exception, StoreError) and "belongs to another program" in str(foreign.exception)
    unknown = checked(tmp_path, store="mysql://host/db")
    assert isinstance(unknown.exception, SettingsError) and "mysql:// is not a kind of store" in str(unknown.exception)


def test_a_check_finds_keys_that_cannot_be_made_or_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    in_a_file = checked(tmp_path, secrets={"directory": "file/keys"})
    assert isinstance(in_a_file.exception, SettingsError)
    assert "secrets.directory" in str(in_a_file.exception) and "Not a directory" in str(in_a_file.exception)
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "sealing.key").write_bytes(bytes(32))
    (tmp_path / "keys" / "sealing.key").chmod(0o644)
    open_to_all = checked(tmp_path, secrets={"directory": "keys"})
    assert isinstance(open_to_all.exception, SettingsError)
    assert "other users can read" in str(open_to_all.exception)


@pytest.mark.parametrize("broken", [b"{broken", b"\xff\xfe{}"])
def test_a_check_finds_a_lock_file_that_cannot_be_read(tmp_path: Path, broken: bytes) -> None:
    (tmp_path / "assent.lock").write_bytes(broken)
    result = checked(tmp_path, pins="assent.lock")
    assert isinstance(result.exception, SettingsError)
    assert "assent.lock: not a lock file: it is not " in str(result.exception)
    assert "accept all definitions again" in str(result.exception)


async def test_the_users_own_configuration_is_served_from_the_store_that_other_commands_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    own = tmp_path / "config" / "assent" / "assent.yaml"
    own.parent.mkdir(parents=True)
    async with over_http(Shop().server) as shop:
        own.write_text(f"upstreams: {{shop: {{url: '{shop}'}}}}\nauth: {{anonymous: {{kind: agent, scopes: ['*']}}}}\n")
        nothing = await asyncio.to_thread(CliRunner().invoke, cli, ["approvals", "list"])
        assert nothing.exit_code == 0, nothing.exception
        async with commanded("serve", "--port", "0") as command:
            url = (await command.said(r"at (http\S+/mcp)"))[1]
            await post(url, rpc("tools/call", name="delete_order", arguments={"order_id": "1"}))
            listed = await asyncio.to_thread(CliRunner().invoke, cli, ["approvals", "list"])
    assert "delete_order" in listed.stdout
    assert [file.name for file in own.parent.iterdir()] == ["assent.yaml"]


async def test_links_lead_to_the_port_that_is_in_use_and_stay_so_when_the_configuration_changes(tmp_path: Path) -> None:
    async with over_http(Shop().server) as shop:
        file = tmp_path / "assent.yaml"
        file.write_text(configuration(tmp_path, {"shop": {"url": shop}}))
        async with commanded("serve", "-c", str(file), "--port", "0") as command:
            url = (await command.said(r"at (http\S+/mcp)"))[1]
            for number, more in enumerate(({}, {"approvals": {"cooldown": "2m"}})):
                if more:
                    file.write_text(configuration(tmp_path, {"shop": {"url": shop}}, **more))
                    command.process.send_signal(signal.SIGHUP)
                    await command.said("the new configuration is used")
                called = await post(url, rpc("tools/call", name="delete_order", arguments={"order_id": str(number)}))
                link = problem(called.json()["result"])["approval_url"]
                assert link.startswith(url.removesuffix("/mcp") + "/console/approvals/")


async def test_a_gateway_that_would_let_nobody_in_says_so(tmp_path: Path) -> None:
    async with over_http(Shop().server) as shop:
        file = tmp_path / "assent.yaml"
        file.write_text(configuration(tmp_path, {"shop": {"url": shop}}, auth={}))
        async with commanded("serve", "-c", str(file), "--port", "0") as command:
            await command.said("No caller can authenticate yet: create a key")


@pytest.mark.parametrize("given", ["1", "4", "many"])
def test_workers_are_refused_with_the_way_to_use_more_cores(given: str) -> None:
    result = CliRunner().invoke(cli, ["serve", "--workers", given])
    assert result.exit_code == 2
    assert "run one replica for each core behind nginx, as examples/postgres_replicas does" in result.output
    assert "--workers" not in CliRunner().invoke(cli, ["serve", "--help"]).output


def test_agents_that_people_let_in_are_callers_who_can_authenticate(tmp_path: Path) -> None:
    embedded = parse_settings(configuration(tmp_path, {}, auth={"embedded": {}}))
    assert not asyncio.run(has_no_credentials(embedded, MemoryStore()))
    check_bind(embedded, "0.0.0.0")


async def test_serve_says_where_people_decide_what_waits_what_was_refused_and_who_came_with_a_wrong_key(
    tmp_path: Path,
) -> None:
    async with over_http(Shop().server) as shop:
        file = tmp_path / "assent.yaml"
        file.write_text(configuration(tmp_path, {"shop": {"url": shop}}))
        async with commanded("serve", "-c", str(file), "--port", "0") as command:
            url = (await command.said(r"at (http\S+/mcp)"))[1]
            await command.said(r"People decide at http\S+/console/")
            await post(url, rpc("tools/call", name="delete_order", arguments={"order_id": "1"}))
            await command.said(r"Waiting: delete_order of anonymous needs a person: http\S+/console/approvals/\w+")
            await post(url, rpc("tools/call", name="delete_order", arguments={"order_id": 7}))
            await command.said("Refused: delete_order: validate")
            await post(url, rpc("tools/list"), authorization="Bearer assent_wrong000_key")
            await command.said("Wrong credentials from 127.0.0.1: authenticate.invalid")
