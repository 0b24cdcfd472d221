"""Through the HTTP gateway, what a guard masks reaches no caller, neither in a result nor in an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.gateway.gateways import gateway, post, rpc
from support.servers.scripted_server import Conversation, ScriptedServer

MAIL = "ann@example.com"
TOOLS = [{"name": "look", "description": "Looks.", "inputSchema": {"type": "object"}}]
RESULTS: dict[str, dict[str, Any]] = {
    "a result": {"content": [{"type": "text", "text": MAIL}], "structuredContent": {"mail": MAIL}},
    "an error": {"content": [{"type": "text", "text": f"{MAIL} is unknown"}], "isError": True},
}


def upstream(result: dict[str, Any]) -> Any:
    async def script(conversation: Conversation) -> None:
        while True:
            head, body = await conversation.read_request()
            message = json.loads(body or b"{}")
            if head.startswith(b"GET"):
                await conversation.answer(b"", status=b"405 Method Not Allowed")
            elif "id" not in message:
                await conversation.answer(b"", status=b"202 Accepted")
            else:
                answer = {"jsonrpc": "2.0", "id": message["id"], **said(message, result)}
                await conversation.answer(json.dumps(answer).encode())

    return script


def said(message: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    match message["method"]:
        case "initialize":
            version, info = message["params"]["protocolVersion"], {"name": "u", "version": "1"}
            return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
        case "tools/list":
            return {"result": {"tools": TOOLS}}
        case "tools/call":
            return {"result": result}
    return {"error": {"code": -32601, "message": "no such method"}}


@pytest.mark.parametrize("name", RESULTS)
async def test_a_masked_value_does_not_pass_the_gateway(name: str, tmp_path: Path) -> None:
    (tmp_path / "calls.yaml").write_text(yaml.safe_dump({"tools": {"look": {"side_effect": "read"}}}))
    async with (
        ScriptedServer(upstream(RESULTS[name])) as server,
        gateway(
            tmp_path,
            {"odd": {"url": server.url}},
            contracts=[str(tmp_path / "calls.yaml")],
            guards=[{"rule": "personal_data", "action": "mask"}],
        ) as (url, _),
    ):
        answer = await post(url, rpc("tools/call", name="look", arguments={}))
    assert MAIL not in answer.text
    assert "[masked: mail address]" in answer.text
