"""The gateway as a command: what it says on standard error."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from assent.cli import cli
from assent.errors import SettingsError
from houses import Shop, configuration, post, rpc
from processes import commanded
from transports import over_http


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
            await command.said("Observed 4 calls. Enforcing would have stopped:")
            await command.said("     3  delete_order  confirm.confirmation_required")
            await command.said("Stopped")


def test_explaining_a_call_says_that_it_would_only_be_observed(tmp_path: Path) -> None:
    file = tmp_path / "assent.yaml"
    file.write_text(configuration(tmp_path, {}, mode="observe"))
    request = json.dumps({"tool": "delete_order", "arguments": {}, "principal": {"kind": "agent", "scopes": ["*"]}})
    result = CliRunner().invoke(cli, ["decide", "-c", str(file)], input=request)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == (
        "answer (only observed; enforcing would stop it: confirm.confirmation_required)"
    )


@pytest.mark.parametrize("wrong", [{"upstreams": {}}, {"nonsense": 1}])
def test_a_configuration_that_does_not_hold_is_refused_with_a_reason(wrong: dict[str, object], tmp_path: Path) -> None:
    file = tmp_path / "assent.yaml"
    settings = yaml.safe_load(configuration(tmp_path, {"dead": {"url": "http://127.0.0.1:9/mcp"}}))
    file.write_text(yaml.safe_dump(settings | wrong))
    result = CliRunner().invoke(cli, ["serve", "-c", str(file), "--check"])
    assert isinstance(result.exception, SettingsError)
    assert next(iter(wrong)) in str(result.exception)


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
                link = called.json()["result"]["structuredContent"]["approval_url"]
                assert link.startswith(url.removesuffix("/mcp") + "/console/approvals/")


async def test_a_gateway_that_would_let_nobody_in_says_so(tmp_path: Path) -> None:
    async with over_http(Shop().server) as shop:
        file = tmp_path / "assent.yaml"
        file.write_text(configuration(tmp_path, {"shop": {"url": shop}}, auth={}))
        async with commanded("serve", "-c", str(file), "--port", "0") as command:
            await command.said("Nobody can call them yet: make a key")
