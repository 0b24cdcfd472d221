"""Settings that decide what a gateway lists: both spellings of hints, and contracts that leave fields open."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from mcp.server import MCPServer

from support.clients.transports import over_http
from support.gateway.gateways import gateway, post, rpc

WHOLE = """
tools:
  mail.read:
    {side_effect: read, category: mail, permissions: [], side_effects: [], failure_modes: {}}
  mail.send: {side_effect: write, risk: critical}
"""


async def tools(folder: Path, **settings: Any) -> dict[str, dict[str, Any]]:
    server = MCPServer("mail", log_level="ERROR")

    @server.tool(name="mail.read")
    def read(id: str) -> dict[str, str]:
        """Reads a message."""
        return {"id": id}

    @server.tool(name="mail.send")
    def send(to: str) -> dict[str, str]:
        """Sends a message."""
        return {"to": to}

    (folder / "own.yaml").write_text(WHOLE)
    async with over_http(server) as upstream:
        more = {"contracts": [str(folder / "own.yaml")], **settings}
        async with gateway(folder, {"mail": {"url": upstream}}, **more) as (url, _):
            return {one["name"]: one for one in (await post(url, rpc("tools/list"))).json()["result"]["tools"]}


async def test_both_spellings_of_the_hints_are_on_the_wire(tmp_path: Path) -> None:
    hints = (await tools(tmp_path, profile="mcpgate", historic_names="both"))["mail.read"]["annotations"]
    assert (hints["readOnly"], hints["readOnlyHint"]) == (True, True)
    assert (hints["destructive"], hints["destructiveHint"]) == (False, False)


async def test_under_mcp_first_a_contract_that_leaves_fields_open_is_withheld(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "assent"):
        listed = await tools(tmp_path, profile="mcp-first")
    assert list(listed) == ["mail.read"]
    assert "mail.send is withheld: the contract leaves open: category, permissions" in caplog.text


async def test_such_a_contract_is_only_logged_where_the_operator_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "assent"):
        listed = await tools(tmp_path, profile="mcp-first", completeness="noted")
    assert sorted(listed) == ["mail.read", "mail.send"]
    assert "mail.send: the contract leaves open: category" in caplog.text
    assert "permissions" not in listed["mail.send"]["_meta"], "nobody declared them"
    assert listed["mail.read"]["_meta"]["permissions"] == [], "there are none"


@pytest.mark.parametrize(("callers", "said"), [("oauth", "conditional"), ("none", "no")])
async def test_a_critical_tool_lists_that_a_login_may_be_asked_for(callers: str, said: str, tmp_path: Path) -> None:
    defaults = {"step_up": {"callers": callers}}
    listed = await tools(tmp_path, defaults=defaults)
    told = {name: tool["_meta"]["dev.assent/contract"]["step_up"] for name, tool in listed.items()}
    assert told == {"mail.read": "no", "mail.send": said}
