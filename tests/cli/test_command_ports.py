"""Commands decide with the settings with which the gateway decides."""

from __future__ import annotations

from pathlib import Path

from assent.cli.shared.store_access import deciding_ports
from assent.config.load import parse_settings
from assent.gateway.app import open_gateway
from support.gateway.gateways import configuration


async def test_a_command_decides_with_the_settings_of_the_gateway(tmp_path: Path) -> None:
    settings = parse_settings(
        configuration(
            tmp_path,
            {"shop": {"url": "http://127.0.0.1:9/mcp"}},
            mode="observe",
            guards=[{"rule": "bounds", "fields": ["amount"], "most": 5}],
            approvals={"most_pending": 3, "cooldown": "5m"},
        )
    )
    gateway, command = await open_gateway(settings), await deciding_ports(settings)
    try:
        ours, theirs = command.rules, gateway.ports.rules
        assert ours._replace(flow=None, guards=()) == theirs._replace(flow=None, guards=())
        assert (
            [one.rule for one in ours.guards]
            == [one.rule for one in theirs.guards]
            == ["bounds", "block_metadata_hosts"]
        )
        assert ours.policy_digest
    finally:
        await command.store.close()
        await gateway.stop()
