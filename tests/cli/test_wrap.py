"""`assent wrap` as a client starts it: a process between the client and the server it was told to start."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from assent.config.load import find_settings
from assent.gateway.stdio.wrapped_server import name_of
from support.clients.transports import ERAS, ROOT, Person
from support.gateway.wrap_process import ASSENT, home, running

ODD = str(ROOT / "tests" / "support" / "servers" / "odd_server.py")


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def wrapped(environment: dict[str, str], *command: str) -> StdioServerParameters:
    arguments = [*ASSENT[1:], "wrap", "--", *(command or (sys.executable, ODD))]
    return StdioServerParameters(command=ASSENT[0], args=arguments, env=environment)


async def test_a_server_is_listed_with_hints_and_called_and_nothing_is_asked_while_observing(
    era: str, tmp_path: Path
) -> None:
    person, progress = Person(), []

    async def on_progress(done: float, total: float | None, message: str | None) -> None:
        progress.append((done, total))

    async with Client(wrapped(home(tmp_path)), mode=era, elicitation_callback=person) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        called = await client.call_tool("list_things", {}, progress_callback=on_progress)
        gone = await client.call_tool("delete_thing", {})
        resources = (await client.list_resources()).resources
        with pytest.raises(MCPError, match="Unknown tool: read_private_key"):
            await client.call_tool("read_private_key", {})
        with pytest.raises(MCPError, match="Method not found"):
            await client.list_prompts()
    assert listed["list_things"].annotations.read_only_hint is None  # type: ignore[union-attr]
    assert listed["delete_thing"].annotations.destructive_hint is True  # type: ignore[union-attr]
    assert "read_private_key" not in listed
    assert called.content[0].text.startswith("list_things")  # type: ignore[union-attr]
    assert gone.content[0].text.endswith(" 1")  # type: ignore[union-attr]
    assert [resource.name for resource in resources] == ["one"]
    assert (person.asked, progress) == ([], [(1, 2)])


async def test_where_the_configuration_enforces_the_user_is_asked_through_the_client(era: str, tmp_path: Path) -> None:
    person = Person(["accept", "decline"])
    environment = home(tmp_path, "mode: enforce\nauth: {stdio: {kind: agent, scopes: ['*'], asks: person}}\n")
    async with Client(wrapped(environment), mode=era, elicitation_callback=person) as client:
        gone = await client.call_tool("delete_thing", {})
        refused = await client.call_tool("delete_thing", {})
    assert gone.content[0].text.endswith(" 1")  # type: ignore[union-attr]
    assert refused.structured_content["code"] == "confirm.declined"
    assert "delete_thing" in person.asked[0]


async def test_what_the_client_cannot_ask_waits_for_the_command_line(era: str, tmp_path: Path) -> None:
    environment = home(tmp_path, "mode: enforce\n")
    async with Client(wrapped(environment), mode=era) as client:
        waiting = await client.call_tool("delete_thing", {})
        assert waiting.structured_content["code"] == "confirm.approval_pending"
        assert "approval_url" not in waiting.structured_content, "there is no page to open"
        approval = waiting.structured_content["approval"]
        deciding = await asyncio.create_subprocess_exec(
            *ASSENT, "approvals", "approve", approval, "--yes", env=environment, cwd=tmp_path
        )
        assert await deciding.wait() == 0
        done = await client.call_tool("delete_thing", {})
    assert done.content[0].text.endswith(" 1")  # type: ignore[union-attr]


async def test_a_stop_of_everything_stops_resources_as_it_stops_calls(era: str, tmp_path: Path) -> None:
    environment = home(tmp_path, "mode: enforce\n")
    stop = (*ASSENT, "stops", "set", "everything", "--reason", "an incident")
    assert await (await asyncio.create_subprocess_exec(*stop, env=environment, cwd=tmp_path)).wait() == 0
    async with Client(wrapped(environment), mode=era) as client:
        refused = await client.call_tool("list_things", {})
        with pytest.raises(MCPError, match="an incident"):
            await client.list_resources()
    assert refused.structured_content["code"] == "authorize.stopped"


async def test_a_server_of_the_official_sdk_keeps_its_era(era: str, tmp_path: Path) -> None:
    shop = str(ROOT / "examples" / "shop" / "server.py")
    environment = {**home(tmp_path), "SHOP_STORE": "memory://"}
    async with Client(wrapped(environment, sys.executable, shop), mode=era) as client:
        assert client.protocol_version == (era if era != "legacy" else "2025-11-25")
        assert "list_products" in [tool.name for tool in (await client.list_tools()).tools]


async def test_the_servers_own_question_reaches_the_user_and_the_answer_the_server(tmp_path: Path) -> None:
    person = Person(["accept"])
    async with Client(wrapped(home(tmp_path)), mode="legacy", elicitation_callback=person) as client:
        answered = await client.call_tool("list_answers", {})
    assert json.loads(answered.content[0].text)["action"] == "accept"  # type: ignore[union-attr]
    assert person.asked == ["Which?"]


async def test_messages_pass_both_ways_as_they_are_and_a_cancelled_read_is_cancelled_at_the_server(
    tmp_path: Path,
) -> None:
    async with running(home(tmp_path), sys.executable, ODD) as client:
        greeting = await client.greet()
        await client.say("prompts/get", 7, anything=[1])
        refused = await client.hear()
        await client.say("tools/call", 8, name="list_slowly", arguments={}, _meta={"progressToken": "p"})
        progress = await client.hear()
        await client.say("notifications/cancelled", requestId=8)
        logged = await client.hear()
        await client.say("tools/call", 9, name="list_things", arguments={})
        called = await client.hear()
        code, said = await client.end()
    assert greeting["result"]["serverInfo"] == {"name": "odd", "version": "1"}
    assert refused == {"jsonrpc": "2.0", "id": 7, "error": {"code": -32601, "message": "Method not found: prompts/get"}}
    assert progress["params"] == {"progressToken": "p", "progress": 1, "total": 2}
    assert logged == {
        "jsonrpc": "2.0",
        "method": "notifications/message",
        "params": {"level": "info", "data": "cancelled"},
    }
    assert called["id"] == 9
    assert (code, said.count("\n")) == (0, 2)
    assert said.count("read_private_key") == 1 and "Hidden from agents, because the risk is forbidden" in said
    assert "observing odd_server" in said
    assert "write `mode: enforce` into" in said


async def test_everything_asked_before_the_client_closes_its_end_is_answered(tmp_path: Path) -> None:
    async with running(home(tmp_path), sys.executable, ODD, "noisy") as client:
        for number, method in enumerate(("tools/list", "resources/list")):
            await client.say(method, number)
        answers, said = await client.process.communicate(b"")
    assert sorted(json.loads(line)["id"] for line in answers.splitlines()) == [0, 1]
    assert "printed a line that is not JSON-RPC on stdout: 'Starting up!'" in said.decode()


async def test_what_is_no_message_is_answered_and_the_rest_goes_on(tmp_path: Path) -> None:
    async with running(home(tmp_path), sys.executable, ODD) as client:
        assert client.process.stdin is not None
        client.process.stdin.write(b'{"a": 1, "a": 2}\n[1]\n\n')
        await client.say("tools/list", 3)
        answers = [await client.hear() for _ in range(3)]
        assert (await client.end())[0] == 0
    assert [answer["id"] for answer in answers] == [None, None, 3]
    assert "error" in answers[0]


async def test_a_request_without_an_id_goes_nowhere(tmp_path: Path) -> None:
    async with running(home(tmp_path), sys.executable, ODD) as client:
        await client.greet()
        assert client.process.stdin is not None
        client.process.stdin.write(b'{"jsonrpc": "2.0", "id": null, "method": "resources/list"}\n')
        await client.say("resources/list", 3)
        assert (await client.hear())["id"] == 3
        assert (await client.end())[0] == 0


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (("no-such-command-at-all",), 2, "the command 'no-such-command-at-all' was not found; install it"),
        ((sys.executable, ODD, "brief"), 1, "the server has failed: it exited with code 3"),
    ],
)
async def test_a_server_that_cannot_be_used_ends_the_wrap_with_a_reason(
    command: tuple[str, ...], code: int, said: str, tmp_path: Path
) -> None:
    async with running(home(tmp_path), *command) as client:
        assert await client.hear() == {}, "it hangs up by itself"
        ended, words = await client.end()
    assert ended == code
    assert said in words
    assert "Traceback" not in words


@pytest.mark.parametrize("method", ["initialize", "tools/list"])
async def test_a_server_that_never_answers_ends_the_wrap_with_a_reason(method: str, tmp_path: Path) -> None:
    async with running(home(tmp_path), sys.executable, ODD, "mute", options=("--start-within", "1s")) as client:
        said = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
        await client.say(method, 1, **(said if method == "initialize" else {}))
        answer = await client.hear()
        assert await client.hear() == {}, "then it hangs up"
        code, words = await client.end()
    assert answer["id"] == 1
    assert "no response to initialize in 1 seconds" in answer["error"]["message"]
    assert (code, "the server has failed: no response to initialize in 1 seconds" in words) == (1, True)


async def test_a_duration_that_is_none_is_refused_before_anything_starts(tmp_path: Path) -> None:
    async with running(home(tmp_path), "no-such-command-at-all", options=("--start-within", "soon")) as client:
        code, words = await client.end()
    assert (code, "'soon' is not a duration" in words) == (2, True)


async def test_a_server_that_dies_in_a_call_ends_the_wrap_and_the_call_is_answered(tmp_path: Path) -> None:
    async with running(home(tmp_path), sys.executable, ODD) as client:
        await client.greet()
        await client.say("tools/call", 1, name="die", arguments={})
        answer = await client.hear()
        assert await client.hear() == {}, "then it hangs up"
        code, words = await client.end()
    assert answer["id"] == 1
    assert "error" in answer or answer["result"]["isError"]
    assert (code, "it exited with code 7" in words) == (1, True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["idle", "calling", "asking"])
async def test_a_signal_at_any_moment_stops_both_processes(number: int, moment: str, tmp_path: Path) -> None:
    async with running(home(tmp_path), sys.executable, ODD) as client:
        await client.greet()
        await client.say("tools/call", 1, name="list_things", arguments={})
        server = int((await client.hear())["result"]["content"][0]["text"].split()[1])
        if moment == "calling":
            await client.say("tools/call", 2, name="list_slowly", arguments={}, _meta={"progressToken": 1})
            await client.hear()
        if moment == "asking":
            await client.say("tools/call", 2, name="list_answers", arguments={})
            assert (await client.hear())["method"] == "elicitation/create"
        client.process.send_signal(number)
        assert await client.process.wait() == 0
    with pytest.raises(ProcessLookupError):
        os.kill(server, 0)


async def test_a_signal_before_the_server_has_said_anything_stops_both_processes(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    os.mkfifo(note)
    script = f"import os, sys; open({str(note)!r}, 'w').write(str(os.getpid())); sys.stdin.read()"
    async with running(home(tmp_path), sys.executable, "-c", script) as client:
        server = int(await asyncio.to_thread(note.read_text))
        client.process.send_signal(signal.SIGINT)
        code, words = await client.end()
    assert (code, "Traceback" in words) == (0, False)
    with pytest.raises(ProcessLookupError):
        os.kill(server, 0)


async def test_two_clients_wrap_the_same_server_at_once_and_both_are_recorded(tmp_path: Path) -> None:
    environment = home(tmp_path)

    async def one(number: int) -> None:
        async with Client(wrapped(environment), mode="legacy") as client:
            for _ in range(10):
                called = await client.call_tool("delete_thing", {})
                assert called.is_error is not True, called

    await asyncio.gather(*(one(number) for number in range(2)))
    from assent.stores.open import open_store

    store = await open_store(find_settings(None, environment).store)
    entries = await store.entries()
    await store.close()
    assert sum(1 for logged in entries if logged.entry.kind == "intent") == 20
    assert all((tmp_path / "state" / "assent").stat().st_mode & 0o077 == 0 for _ in range(1))


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("npx", "-y", "@modelcontextprotocol/server-filesystem", "/srv"), "server-filesystem"),
        (("uvx", "mcp-server-git"), "mcp-server-git"),
        (("/usr/local/bin/my server",), "my-server"),
        (("docker", "run", "-i", "--rm", "ghcr.io/github/github-mcp-server"), "github-mcp-server"),
        (("///",), "server"),
    ],
)
def test_a_server_is_called_after_what_is_run_and_not_what_runs_it(command: tuple[str, ...], name: str) -> None:
    assert name_of(command) == name


async def test_what_the_server_says_in_an_error_is_passed_on_as_its_words(tmp_path: Path) -> None:
    failing = str(Path(__file__).parents[1] / "support" / "servers" / "failing_server.py")
    masked = "guards: [{rule: secrets, action: mask}]"
    for folder, configuration in ((tmp_path / "a", ""), (tmp_path / "b", masked)):
        folder.mkdir()
        async with running(home(folder, configuration), sys.executable, failing) as client:
            await client.greet()
            await client.say("tools/call", 1, name="delete_thing", arguments={})
            ended = (await client.hear())["result"]["structuredContent"]
        assert ended["code"] == "execute.in_doubt"
        assert 'The server said: "The disk is full.' in ended["detail"] and "\u200b" not in ended["detail"]
        assert ("AKIAIOSFODNN7EXAMPLE" in ended["detail"]) is (configuration == "")
