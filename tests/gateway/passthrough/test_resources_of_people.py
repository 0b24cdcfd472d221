"""Resources of an upstream with an account for each person: what one person was listed is not used for another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import orjson
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from assent.upstreams.credentials import PersonOwner
from support.gateway.gateways import gateway
from support.servers.scripted_server import Conversation, ScriptedServer


async def script(conversation: Conversation) -> None:
    """A modern server that lists to each key its own resource."""
    while True:
        head, body = await conversation.read_request()
        asked = orjson.loads(body)
        person = "ann" if b"ann's key" in head else "ben" if b"ben's key" in head else "team"
        result: dict[str, Any] = {"resultType": "complete"}
        if asked["method"] == "server/discover":
            result |= {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, "resources": {}}}
        elif asked["method"] == "resources/read":
            result |= {"contents": [{"uri": asked["params"]["uri"], "text": f"read by {person}"}]}
        elif asked["method"] == "resources/list":
            result |= {"resources": [{"uri": f"{person}://note", "name": "note"}]}
        else:
            result |= {"tools": [], "resourceTemplates": []}
        await conversation.answer(orjson.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}))


async def read(url: str, person: str, uri: str) -> str:
    async with httpx2.AsyncClient(headers={"authorization": f"Bearer key-of-{person}"}, timeout=60) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            try:
                return str((await client.read_resource(uri)).contents[0].text)  # type: ignore[union-attr]
            except MCPError as error:
                return str(error)


async def test_each_person_finds_their_own_resources_and_no_others(tmp_path: Path) -> None:
    keys = [{"name": name, "key": f"key-of-{name}", "kind": "agent", "scopes": ["*"]} for name in ("ann", "ben")]
    async with ScriptedServer(script) as notes, ScriptedServer(script) as other:
        upstreams = {"notes": {"url": notes.url, "auth": "key", "identity": "per_user"}, "other": {"url": other.url}}
        async with gateway(tmp_path, upstreams, auth={"api_keys": keys}, contracts=[]) as (url, app):
            for name in ("ann", "ben"):
                await app.runtime.vault.put("notes", PersonOwner("local", name), {"key": f"{name}'s key"})
            await app.runtime.vault.put("notes", PersonOwner("", ""), {"key": "team"})
            await app.reload("notes")
            of_ann = await read(url, "ann", "ann://note")
            of_ben = await read(url, "ben", "ben://note")
            foreign = await read(url, "ben", "ann://note")
    assert [of_ann, of_ben] == ["read by ann", "read by ben"]
    assert "Unknown resource" in foreign
