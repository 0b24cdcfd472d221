"""`assent wrap` tells an agent nothing of a tool that is forbidden for AI, whatever the server says of itself."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.client import session
from mcp_types import PromptReference

from support.clients.transports import ROOT
from support.gateway.wrap_process import ASSENT, home, running

SECRET = "read_private_key"
SERVER = (sys.executable, str(ROOT / "tests" / "support" / "servers" / "mentioning_server.py"))


@asynccontextmanager
async def wrapped(folder: Path, era: str, *command: str) -> AsyncIterator[Client]:
    server = StdioServerParameters(command=ASSENT[0], args=[*ASSENT[1:], "wrap", "--", *command], env=home(folder))
    async with Client(server, mode=era) as client:
        yield client


async def everything_said(client: Client) -> str:
    prompts = await client.list_prompts()
    reference = PromptReference(name=prompts.prompts[0].name)
    completed = await client.complete(reference, {"name": "tool", "value": ""})
    parts = [prompts, completed, await client.list_resources(), await client.list_tools()]
    return (client.instructions or "") + "".join(part.model_dump_json() for part in parts)


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_an_agent_is_told_nothing_of_it_and_everything_else(
    era: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "DISCOVER_TIMEOUT_SECONDS", 120)
    async with wrapped(tmp_path, era, *SERVER) as client:
        told = await everything_said(client)
    assert SECRET not in told
    kept = ("Sells scenes.", "Be polite.", "Lists orders.", "Up to ten.", "Explains a tool.", "Notes on orders.")
    for sentence in (*kept, "list_orders"):
        assert sentence in told


async def test_without_a_list_of_tools_the_texts_are_left_out_and_the_reason_is_logged(tmp_path: Path) -> None:
    async with running(home(tmp_path), *SERVER, "unlisted") as wrap:
        greeted = await wrap.greet()
        await wrap.say("prompts/list", 1)
        listed = await wrap.hear()
        _, said = await wrap.end()
    assert "instructions" not in greeted["result"]
    assert [prompt["name"] for prompt in listed["result"]["prompts"]] == ["explain"]
    assert SECRET not in str(listed)
    assert "descriptions in the answer to initialize are left out" in said
    assert "answered with error -32603" in said
