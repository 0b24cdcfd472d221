"""A rule that never applies and a tool that is withheld are named at start and by `serve --check`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp.server import MCPServer

from assent.config.load import parse_settings
from assent.core.catalogue import Catalogue
from assent.gateway.idle_rules import idle_rules
from support.clients.transports import over_http
from support.gateway.gateways import Shop, configuration, gateway
from support.processes.servers import commanded

GUARD = {"rule": "bounds", "fields": ["amount"], "most": 1}


def said(folder: Path, troubles: dict[str, str], **rules: Any) -> list[str]:
    settings = parse_settings(configuration(folder, {"shop": {"url": "http://127.0.0.1:9/mcp"}}, **rules))
    return list(idle_rules(settings, Catalogue({}, {"place_order": "it has no contract"}), troubles))


def test_a_rule_that_matches_no_tool_is_named_with_what_was_meant(tmp_path: Path) -> None:
    patterns = [{"tool": "place_ordr"}, {"tool": "place_*"}, {}]
    limits = [{"calls": 1, "per": "1m", "match": {"upstream": "shoop"}}]
    found = said(tmp_path, {}, guards=[{**GUARD, "match": pattern} for pattern in patterns], limits=limits)
    assert found == [
        "guards.0: no tool matches 'place_ordr', so it never applies. Did you mean place_order?",
        "limits.0: no upstream matches 'shoop', so it never applies. Did you mean shop?",
    ]


def test_nothing_is_said_of_tools_while_an_upstream_does_not_answer(tmp_path: Path) -> None:
    assert said(tmp_path, {"shop": "down"}, guards=[{**GUARD, "match": {"tool": "place_ordr"}}]) == []


async def test_nothing_is_said_of_guards_that_the_operator_did_not_write(tmp_path: Path) -> None:
    server = MCPServer("notes", log_level="ERROR")

    @server.tool()
    def list_notes(folder: str) -> str:
        """Lists notes."""
        return folder

    async with over_http(server) as url:
        rules: dict[str, Any] = {"preset": "recommended", "guards": [GUARD], "contracts": []}
        async with gateway(tmp_path, {"notes": {"url": url}}, **rules) as (_, app):
            sentences = list(idle_rules(app.current.settings, app.current.catalogue, {}))
    assert [one.partition(":")[0] for one in sentences] == ["guards.0"]


async def test_the_check_of_a_configuration_says_so(tmp_path: Path) -> None:
    async with over_http(Shop().server) as shop:
        file = tmp_path / "assent.yaml"
        rules = [{**GUARD, "match": {"tool": "place_ordr"}}]
        file.write_text(configuration(tmp_path, {"shop": {"url": shop}}, guards=rules))
        async with commanded("serve", "-c", str(file), "--check") as command:
            await command.said("warning: guards.0: no tool matches 'place_ordr'")


async def test_a_tool_that_is_withheld_for_its_schema_is_named_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = MCPServer("odd", log_level="ERROR")

    @server.tool()
    def list_bombs() -> str:
        """Lists bombs."""
        return ""

    bomb = {"type": "object", "allOf": [{"$ref": "#"}]}
    server._tool_manager._tools["list_bombs"].parameters = bomb
    async with over_http(server) as url, gateway(tmp_path, {"odd": {"url": url}}, contracts=[]):
        pass
    assert "list_bombs is withheld: its definition cannot be used" in caplog.text
