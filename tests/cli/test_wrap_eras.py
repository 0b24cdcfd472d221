"""`assent wrap` and the client's choice of an era: a probe decides nothing, and `initialize` is always accepted."""

from __future__ import annotations

import asyncio
import json
import sys
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client import session
from mcp.shared.exceptions import MCPDeprecationWarning

from support.clients.transports import ROOT
from support.gateway.wrap_process import ASSENT, home, running

ODD = (sys.executable, str(ROOT / "tests" / "support" / "servers" / "odd_server.py"))
TALKING = (sys.executable, str(ROOT / "tests" / "support" / "servers" / "talking_server.py"), "unused")
SLOW = (sys.executable, str(ROOT / "tests" / "support" / "servers" / "gated_server.py"))
MODERN = "2026-07-28"
ENVELOPE = {
    types.PROTOCOL_VERSION_META_KEY: MODERN,
    types.CLIENT_INFO_META_KEY: {"name": "t", "version": "0"},
    types.CLIENT_CAPABILITIES_META_KEY: {},
}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> None:
    """The official client gives up its probe after half a second instead of ten; with --torture it has its defaults."""
    if not pytestconfig.getoption("--torture"):
        monkeypatch.setattr(session, "DISCOVER_TIMEOUT_SECONDS", 0.5)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The official client waits for its probe however busy the machine is."""
    monkeypatch.setattr(session, "DISCOVER_TIMEOUT_SECONDS", 120)


async def green(_: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"colour": "green"})


async def sampled(_: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    words = types.TextContent(type="text", text="hello")
    return types.CreateMessageResult(role="assistant", content=words, model="m")


async def rooted(_: Any) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri="file:///home/ann")])  # type: ignore[arg-type]


@asynccontextmanager
async def connected(folder: Path, *command: str, mode: str = "auto") -> AsyncIterator[Client]:
    """The official client, with its defaults unless a mode is named."""
    folder.mkdir(exist_ok=True)
    server = StdioServerParameters(command=ASSENT[0], args=[*ASSENT[1:], "wrap", "--", *command], env=home(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        async with Client(
            server, mode=mode, elicitation_callback=green, sampling_callback=sampled, list_roots_callback=rooted
        ) as client:
            yield client


async def answer(client: Client, tool: str) -> str:
    (block,) = (await client.call_tool(tool, {})).content
    return str(block.text)  # type: ignore[union-attr]


async def test_a_handshake_server_that_starts_slowly_is_met_by_the_handshake_and_may_ask(
    impatient: None, tmp_path: Path
) -> None:
    async with connected(tmp_path, *SLOW, *ODD) as client:
        version, said = client.protocol_version, await answer(client, "list_answers")
    assert version == "2025-11-25"
    assert '"colour": "green"' in said


async def test_a_server_of_both_eras_that_starts_slowly_accepts_the_handshake_after_the_probe(
    impatient: None, tmp_path: Path
) -> None:
    async with connected(tmp_path, *SLOW, *TALKING) as client:
        version, said = client.protocol_version, [await answer(client, tool) for tool in ("get_colour", "get_summary")]
    assert version == "2025-11-25"
    assert said == ["accept green", "hello"]


async def test_ten_slow_servers_wrapped_at_once_all_connect_and_share_the_store(
    impatient: None, tmp_path: Path
) -> None:
    async def one(number: int) -> str:
        async with connected(tmp_path, *SLOW, *ODD) as client:
            return await answer(client, "list_things")

    said = await asyncio.gather(*(one(number) for number in range(10)))
    assert [text.split()[0] for text in said] == ["list_things"] * 10


async def test_before_a_handshake_server_a_probe_is_an_unknown_method_and_the_client_keeps_its_questions(
    patient: None, tmp_path: Path
) -> None:
    async with connected(tmp_path, *ODD) as client:
        version, said = client.protocol_version, await answer(client, "list_answers")
    assert version == "2025-11-25"
    assert '"colour": "green"' in said


async def test_before_a_modern_server_a_probe_is_answered_by_the_server(patient: None, tmp_path: Path) -> None:
    async with connected(tmp_path, *TALKING) as client:
        version, info, said = client.protocol_version, client.server_info, await answer(client, "get_colour")
    assert (version, said) == (MODERN, "accept green")
    assert info is not None and info.name == "talker"


async def test_initialize_is_accepted_after_an_answered_probe(tmp_path: Path) -> None:
    """The answer may cross the client's time-out on its way."""
    async with running(home(tmp_path), *TALKING) as client:
        await client.say("server/discover", 1, _meta=ENVELOPE)
        discovered = await client.hear()
        greeted = await client.greet()
        await client.say("tools/list", 2)
        listed = await client.hear()
        assert (await client.end())[0] == 0
    assert discovered["result"]["supportedVersions"] == [MODERN]
    assert greeted["result"]["protocolVersion"] == "2025-11-25"
    assert len(listed["result"]["tools"]) == 6


async def test_the_probe_that_was_given_up_is_answered_before_the_handshake(tmp_path: Path) -> None:
    async with running(home(tmp_path), *SLOW, *ODD) as client:
        await client.say("server/discover", 1, _meta=ENVELOPE)
        await client.say("ping", 2)
        pinged = await client.hear()
        await client.say(
            "initialize", 3, protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "0"}
        )
        probed, greeted = await client.hear(), await client.hear()
        assert (await client.end())[0] == 0
    assert (pinged["id"], pinged["result"]) == (2, {})
    assert (probed["id"], probed["error"]["code"]) == (1, types.METHOD_NOT_FOUND)
    assert (greeted["id"], greeted["result"]["serverInfo"]["name"]) == (3, "odd")


async def test_a_probe_behind_the_handshake_is_an_unknown_method_while_the_server_starts(tmp_path: Path) -> None:
    async with running(home(tmp_path), *SLOW, *ODD) as client:
        await client.say(
            "initialize", 1, protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "0"}
        )
        await client.say("server/discover", 2, _meta=ENVELOPE)
        answers = {one["id"]: one for one in [await client.hear(), await client.hear()]}
        assert (await client.end())[0] == 0
    assert answers[1]["result"]["serverInfo"]["name"] == "odd"
    assert answers[2]["error"]["code"] == types.METHOD_NOT_FOUND


async def test_a_call_that_is_cancelled_while_the_server_starts_does_not_run(tmp_path: Path) -> None:
    async with running(home(tmp_path), *SLOW, *ODD) as client:
        for number in (1, 2):
            await client.say("tools/call", number, name="list_answers", arguments={}, _meta=ENVELOPE)
            await client.say("notifications/cancelled", requestId=number)
        for wrong in (True, 3.0, [3], None):
            await client.say("notifications/cancelled", requestId=wrong)
        await client.say("tools/list", 3, _meta=ENVELOPE)
        said, errors = await client.process.communicate(b"")
    assert [json.loads(line)["id"] for line in said.splitlines()] == [3]
    assert b"Traceback" not in errors


@pytest.mark.parametrize("capabilities", [None, ["elicitation"], {"elicitation": 1}])
async def test_a_first_request_with_wrong_capabilities_is_refused_and_the_next_one_is_served(
    capabilities: Any, tmp_path: Path
) -> None:
    wrong = {**ENVELOPE, types.CLIENT_CAPABILITIES_META_KEY: capabilities}
    async with running(home(tmp_path), *ODD) as client:
        await client.say("tools/list", 1, _meta=wrong)
        await client.hear()
        await client.say("tools/list", 2, _meta=ENVELOPE)
        listed = await client.hear()
        assert (await client.end())[0] == 0
    assert listed["id"] == 2 and listed["result"]["tools"]


async def test_a_client_that_only_speaks_the_modern_revision_is_asked_by_a_handshake_server(tmp_path: Path) -> None:
    async with connected(tmp_path, *ODD, mode=MODERN) as client:
        version, said = client.protocol_version, await answer(client, "list_answers")
    assert version == MODERN
    assert '"colour": "green"' in said
