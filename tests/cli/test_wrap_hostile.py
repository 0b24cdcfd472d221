"""A server behind `assent wrap` that says what it should not: the client hears nothing we did not decide."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import pytest

from assent.core.principal import Principal
from assent.gateway.stdio.wrap import StdioGateway
from assent.upstreams.stdio.process import LaunchSpec
from assent.upstreams.stdio.server import StdioUpstream
from support.clients.transports import ROOT
from support.gateway.wrap_process import home, running

FORGING = (sys.executable, str(ROOT / "tests" / "support" / "servers" / "forging_server.py"))


async def test_a_server_cannot_answer_in_our_place_what_the_client_asked_us(tmp_path: Path) -> None:
    async with running(home(tmp_path), *FORGING, "forges") as client:
        await client.greet()
        await client.say("tools/list", 1)
        listed = await client.hear()
        await client.say("resources/list", 2)
        passed = await client.hear()
        assert (await client.end())[0] == 0
    assert [tool["name"] for tool in listed["result"]["tools"]] == ["list_things"]
    assert "annotations" in listed["result"]["tools"][0], "it is the list we made"
    assert (passed["id"], "result" in passed) == (2, True)


@pytest.mark.parametrize("kind", ["strange", "deep"])
async def test_messages_nobody_can_read_are_noise_and_the_rest_goes_on(kind: str, tmp_path: Path) -> None:
    async with running(home(tmp_path), *FORGING, kind) as client:
        await client.greet()
        await client.say("tools/list", 1)
        listed = await client.hear()
        code, said = await client.end()
    assert (listed["id"], len(listed["result"]["tools"])) == (1, 1)
    assert (code, "printed a line that is not JSON-RPC on stdout" in said, "Traceback" in said) == (0, True, False)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("deep", "nested too deep"), ("long", "longer than 16 MB"), ("torn", "not JSON"), ("bare", "not JSON-RPC")],
)
async def test_an_answer_that_cannot_be_used_is_a_failure_at_once(kind: str, reason: str, tmp_path: Path) -> None:
    async with running(home(tmp_path), *FORGING, kind) as client:
        await client.greet()
        await client.say("tools/call", 1, name="list_things", arguments={})
        called = await client.hear()
        await client.say("resources/list", 2)
        passed = await client.hear()
        code, said = await client.end()
    assert called["result"]["structuredContent"]["code"] == "execute.failed"
    assert (passed["id"], reason in passed["error"]["message"]) == (2, True)
    assert (code, "Traceback" in said) == (0, False)


async def test_a_question_that_is_withdrawn_or_has_no_id_does_not_count_as_open() -> None:
    server = StdioUpstream(LaunchSpec("up", ["true"], {}), {}, mark="m", clock=time.monotonic)
    written: list[bytes] = []
    ann, wait = Principal("ann", "human"), asyncio.Event().wait
    StdioGateway(server, lambda: None, ann, written.append, reload=wait)  # type: ignore[arg-type, return-value]
    question = {"jsonrpc": "2.0", "method": "roots/list"}
    server.listen({**question, "id": None})
    assert not server.is_asking()
    server.listen({**question, "id": 1})
    assert server.is_asking()
    server.listen({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}})
    assert server.is_asking()
    server.listen({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    assert not server.is_asking()
    assert len(written) == 4, "the client hears all of it"


async def test_a_client_whose_greeting_is_refused_may_greet_in_another_way(tmp_path: Path) -> None:
    async with running(home(tmp_path), *FORGING, "choosy") as client:
        refused = await client.greet()
        said = {"capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
        await client.say("initialize", 1, protocolVersion="2024-11-05", **said)
        greeted = await client.hear()
        await client.say("tools/call", 2, name="list_things", arguments={})
        called = await client.hear()
        assert (await client.end())[0] == 0
    assert refused["error"]["message"] == "Unsupported protocol version"
    assert greeted["result"]["protocolVersion"] == "2024-11-05"
    assert called["result"]["content"][0]["text"] == "done"
