"""Several upstreams behind one endpoint: what they have beside tools, in either era on either side."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

from assent.config.load import parse_settings
from assent.gateway.app import GatewayApp
from assent.upstreams.credentials import SHARED
from support.clients.transports import ERAS, connect
from support.gateway.gateways import HEADERS, configuration, gateway, post, rpc
from support.servers.library_server import Library
from support.servers.loopback_server import serving
from support.servers.old_revision import aged

pytestmark = pytest.mark.filterwarnings(f"ignore::{MCPDeprecationWarning.__module__}.MCPDeprecationWarning")
UPSTREAM_ERAS = ("modern", "handshake")


@asynccontextmanager
async def libraries(
    folder: Path, eras: tuple[str, str] = ("modern", "handshake"), **more: Any
) -> AsyncIterator[tuple[str, GatewayApp, Library, Library]]:
    one, two = Library("alpha"), Library("beta")
    async with AsyncExitStack() as stack:
        upstreams = {}
        for library, era in zip((one, two), eras, strict=True):
            url = await stack.enter_async_context(serving(aged(library.server.streamable_http_app(), era)))
            upstreams[library.name] = {"url": url, "trust": "annotations"}
        contracts = {
            f"{name}_{tool}": {"side_effect": "read"}
            for name in upstreams
            for tool in ("find_words", "get_name_of_user", "get_news")
        }
        (folder / "read.yaml").write_text(json.dumps({"tools": contracts}))
        url, gateway_app = await stack.enter_async_context(
            gateway(folder, upstreams, contracts=[str(folder / "read.yaml")], **more)
        )
        yield url, gateway_app, one, two


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_capabilities_and_instructions_are_those_of_all(mode: str, tmp_path: Path) -> None:
    async with libraries(tmp_path) as (url, _, _one, _two), connect(url, mode, None) as client:
        has = client.server_capabilities
        assert has.tools and has.tools.list_changed
        assert has.resources and has.prompts and has.completions
        assert client.instructions == "alpha: Ask alpha first.\n\nbeta: Ask beta first."


async def test_prompts_carry_their_prefix_and_resources_their_uri_the_first_winning(
    era: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with libraries(tmp_path) as (url, _, _one, _two), connect(url, era, None) as client:
        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        resources = [str(resource.uri) for resource in (await client.list_resources()).resources]
        templates = [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
    assert prompts == ["alpha_greet", "beta_greet"]
    assert resources == ["alpha://books/1", "shared://motto", "beta://books/1"]
    assert templates == ["alpha://pages/{number}", "beta://pages/{number}"]
    assert "'shared://motto' of upstream beta is hidden by that of alpha" in caplog.text


async def test_what_is_asked_for_by_name_comes_from_where_it_was_listed(era: str, tmp_path: Path) -> None:
    async with libraries(tmp_path) as (url, _, _one, _two), connect(url, era, None) as client:

        async def read(uri: str) -> str:
            return (await client.read_resource(uri)).contents[0].text  # type: ignore[union-attr]

        assert await read("beta://books/1") == "book one of beta"
        assert await read("shared://motto") == "motto of alpha"
        assert await read("beta://pages/7") == "page 7 of beta"
        greeting = await client.get_prompt("beta_greet", {"who": "Ann"})
        assert greeting.messages[0].content.text == "beta greets Ann"  # type: ignore[union-attr]
        reference = types.PromptReference(type="ref/prompt", name="beta_greet")
        assert (await client.complete(reference, {"name": "who", "value": "a"})).completion.values == ["beta-a"]
        template = types.ResourceTemplateReference(type="ref/resource", uri="alpha://pages/{number}")
        assert (await client.complete(template, {"name": "number", "value": "1"})).completion.values == ["alpha-1"]


async def test_what_nobody_has_is_unknown_and_goes_to_nobody(era: str, tmp_path: Path) -> None:
    async with libraries(tmp_path) as (url, _, _one, _two), connect(url, era, None) as client:
        with pytest.raises(MCPError, match="Unknown resource: other://secret"):
            await client.read_resource("other://secret")
        with pytest.raises(MCPError, match="Unknown prompt: greet"):
            await client.get_prompt("greet", {"who": "x"})


@pytest.mark.parametrize("upstream", UPSTREAM_ERAS)
async def test_progress_and_log_messages_arrive_while_the_tool_runs(era: str, upstream: str, tmp_path: Path) -> None:
    progress: list[float] = []
    logged: list[str] = []

    async def on_progress(done: float, total: float | None, message: str | None) -> None:
        progress.append(done)

    async def on_log(params: types.LoggingMessageNotificationParams) -> None:
        logged.append(str(params.data))

    async with libraries(tmp_path, (upstream, upstream)) as (url, _, _one, _two):
        async with Client(url, mode=era, logging_callback=on_log, log_level="info") as client:  # type: ignore[arg-type]
            if era == "legacy":
                await client.set_logging_level("info")
            await client.call_tool("beta_find_words", {}, progress_callback=on_progress)
    assert progress == [1]
    assert logged == ["log of beta"] or (era, upstream) == ("2026-07-28", "handshake")


async def test_the_level_of_logging_reaches_every_upstream_of_the_old_era(tmp_path: Path) -> None:
    async with libraries(tmp_path, ("handshake", "handshake")) as (url, _, one, two):
        async with connect(url, "legacy", None) as client:
            await client.set_logging_level("error")
    assert one.levels == two.levels == ["error"]


async def test_a_question_of_an_old_upstream_reaches_the_user_of_its_own_session(tmp_path: Path) -> None:
    async def answer(_: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"name": "Ann"})

    async with libraries(tmp_path, ("handshake", "handshake")) as (url, _, _one, _two):
        async with Client(url, mode="legacy", elicitation_callback=answer) as client:
            result = await client.call_tool("alpha_get_name_of_user", {})
    assert result.content[0].text == "Ann"  # type: ignore[union-attr]


@pytest.mark.parametrize("upstream", UPSTREAM_ERAS)
async def test_a_subscriber_hears_of_its_resource_and_of_no_other(era: str, upstream: str, tmp_path: Path) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def on_message(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            heard.put_nowait(str(message.params.uri))

    async with libraries(tmp_path, (upstream, upstream)) as (url, _, _one, two):
        async with Client(url, mode=era, message_handler=on_message) as client:  # type: ignore[arg-type]
            mine = "beta://books/1"
            if era == "legacy":
                await client.subscribe_resource(mine)
                for uri in ("beta://pages/3", mine):
                    await client.call_tool("beta_get_news", {"uri": uri})
                async with asyncio.timeout(10):
                    assert await heard.get() == mine
                await client.unsubscribe_resource(mine)
            else:
                async with client.listen(resource_subscriptions=[mine, "other://x"]) as stream:
                    for uri in ("beta://pages/3", mine):
                        await client.call_tool("beta_get_news", {"uri": uri})
                    async with asyncio.timeout(10):
                        event = await anext(stream)
                    assert event.uri == mine
        if upstream == "handshake":
            async with asyncio.timeout(10):
                while two.watched:  # noqa: ASYNC110 (the upstream has no event for it)
                    await asyncio.sleep(0)
    while not heard.empty():
        assert heard.get_nowait() == mine


@pytest.mark.parametrize("upstream", UPSTREAM_ERAS)
async def test_an_upstream_says_nothing_of_the_resources_of_another(era: str, upstream: str, tmp_path: Path) -> None:
    heard: list[str] = []

    async def on_message(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            heard.append(str(message.params.uri))

    async with libraries(tmp_path, (upstream, upstream)) as (url, *_):
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(Client(url, mode=era, message_handler=on_message))  # type: ignore[arg-type]
            theirs, mine = "alpha://books/1", "beta://books/1"
            if era == "legacy":
                for uri in (theirs, mine):
                    await client.subscribe_resource(uri)
            else:
                stream = await stack.enter_async_context(client.listen(resource_subscriptions=[theirs, mine]))
            for uri in (theirs, mine):
                await client.call_tool("beta_get_news", {"uri": uri})
            async with asyncio.timeout(10):
                if era == "legacy":
                    while not heard:  # noqa: ASYNC110 (the client has no event for it)
                        await asyncio.sleep(0.01)
                else:
                    assert (await anext(stream)).uri == mine
    assert theirs not in heard


async def test_an_upstreams_own_list_changes_are_heard_at_once(era: str, tmp_path: Path) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def on_message(message: Any) -> None:
        heard.put_nowait(type(message).__name__)

    async with libraries(tmp_path, ("modern", "modern")) as (url, gateway_app, one, _two):
        async with Client(url, mode=era, message_handler=on_message) as client:  # type: ignore[arg-type]
            ready = gateway_app.upstream_monitor.subscriptions["alpha"]._open
            await ready.wait()

            async def announce(ctx: Context[Any, Any]) -> str:
                """Gets a new tool."""
                one.server.add_tool(lambda: "new", name="get_fresh", description="Gets something fresh.")
                await ctx.notify_tools_changed()
                return "told"

            one.server.add_tool(announce, name="find_words2", description="Finds words.")
            await gateway_app.reload("alpha")
            if era == "legacy":
                await client.call_tool("alpha_find_words2", {})
                async with asyncio.timeout(10):
                    while await heard.get() != "ToolListChangedNotification":
                        pass
                    while "alpha_get_fresh" not in gateway_app.current.catalogue.tools:
                        assert await heard.get() == "ToolListChangedNotification"
            else:
                async with client.listen(tools_list_changed=True) as stream:
                    await client.call_tool("alpha_find_words2", {})
                    async with asyncio.timeout(10):
                        while "alpha_get_fresh" not in gateway_app.current.catalogue.tools:
                            await anext(stream)
    assert "alpha_get_fresh" in gateway_app.current.catalogue.tools


async def test_the_upstreams_session_ends_with_the_clients(tmp_path: Path) -> None:
    async with libraries(tmp_path, ("handshake", "handshake")) as (url, gateway_app, _one, _two):
        async with connect(url, "legacy", None) as client:
            await client.call_tool("alpha_find_words", {})
            upstream_sessions = gateway_app.current.links["alpha"].live.sessions
            assert len(upstream_sessions) == 1
        async with asyncio.timeout(10):
            while len(upstream_sessions):  # noqa: ASYNC110 (ended in the background)
                await asyncio.sleep(0)


async def begin_session(client: httpx2.AsyncClient, url: str) -> dict[str, str]:
    """The headers of a new session."""
    who = {"name": "c", "version": "1"}
    message = rpc("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=who)
    answer = await client.post(url, json=message, headers=HEADERS)
    return {**HEADERS, "mcp-protocol-version": "2025-11-25", "mcp-session-id": answer.headers["mcp-session-id"]}


async def test_a_session_that_a_client_left_while_it_was_opened_at_the_upstream_ends_too(tmp_path: Path) -> None:
    arrived, may_go_on = asyncio.Event(), asyncio.Event()
    may_go_on.set()
    inner = aged(Library("alpha").server.streamable_http_app(), "handshake")

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            arrived.set()
            await may_go_on.wait()
        await inner(scope, receive, send)

    call = rpc("tools/call", name="find_words", arguments={})
    async with (
        serving(slow) as upstream,
        gateway(tmp_path, {"alpha": {"url": upstream, "trust": "annotations"}}, contracts=[]) as (url, gateway_app),
        httpx2.AsyncClient(timeout=60) as client,
    ):
        upstream_sessions = gateway_app.current.links["alpha"].live.sessions
        for _ in range(5):
            headers = await begin_session(client, url)
            arrived.clear()
            may_go_on.clear()
            running = asyncio.create_task(client.post(url, json=call, headers=headers))
            await arrived.wait()
            assert (await client.delete(url, headers=headers)).status_code == 200
            may_go_on.set()
            await running
        async with asyncio.timeout(10):
            while len(upstream_sessions):  # noqa: ASYNC110 (ended in the background)
                await asyncio.sleep(0)


async def test_the_session_at_a_replaced_upstream_ends_with_the_clients(tmp_path: Path) -> None:
    def upstreams(url: str) -> dict[str, Any]:
        return {"alpha": {"url": url, "trust": "annotations"}}

    old, new = (aged(Library("alpha").server.streamable_http_app(), "handshake") for _ in range(2))
    call = rpc("tools/call", name="find_words", arguments={})
    async with (
        serving(old) as first,
        serving(new) as second,
        gateway(tmp_path, upstreams(first), contracts=[]) as (url, gateway_app),
        httpx2.AsyncClient(timeout=60) as client,
    ):
        headers = await begin_session(client, url)
        assert "words" in (await client.post(url, json=call, headers=headers)).text
        await gateway_app.use(parse_settings(configuration(tmp_path, upstreams(second), contracts=[])))
        assert "words" in (await client.post(url, json=call, headers=headers)).text
        upstream_sessions = gateway_app.current.links["alpha"].live.sessions
        assert len(upstream_sessions) == 1
        await client.delete(url, headers=headers)
        async with asyncio.timeout(10):
            while len(upstream_sessions):  # noqa: ASYNC110 (ended in the background)
                await asyncio.sleep(0)


async def test_test_callers_read_nothing_live(tmp_path: Path) -> None:
    auth = {"anonymous": {"kind": "agent", "scopes": ["*"], "mode": "test"}}
    async with libraries(tmp_path, auth=auth) as (url, _, _one, _two):
        async with connect(url, "2026-07-28", None) as client:
            assert (await client.list_resources()).resources == []
            with pytest.raises(MCPError, match="Unknown resource"):
                await client.read_resource("alpha://books/1")


async def test_an_old_request_without_a_session_is_told_to_open_one(tmp_path: Path) -> None:
    async with libraries(tmp_path) as (url, _, _one, _two):
        answer = await post(url, rpc("resources/list"))
    assert answer.status_code == 400
    assert "session" in answer.json()["error"]["message"].lower()


async def test_the_instructions_of_a_single_server_are_as_it_wrote_them(tmp_path: Path) -> None:
    library = Library("alpha")
    async with serving(library.server.streamable_http_app()) as upstream:
        settings = {"s": {"url": upstream, "auth": "key"}}
        async with gateway(tmp_path, settings, contracts=[]) as (url, app):
            await app.runtime.vault.put("s", SHARED, {"key": "k"})
            await app.reload("s")
            async with connect(url, "auto", None) as client:
                assert client.instructions == "Ask alpha first."
