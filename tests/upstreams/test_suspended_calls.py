"""An upstream of the old era asks in the middle of a call of a client of the new one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.shared.message import ServerMessageMetadata
from pydantic import BaseModel

from assent.gateway.app import GatewayApp
from assent.mcp.channel import asks_of
from assent.upstreams.suspended_calls import SuspendedCalls, UnknownRequestState
from support.decisions.problems import problem
from support.gateway.gateways import ANN_KEY, CI, gateway, post, rpc
from support.servers.loopback_server import serving
from support.servers.old_revision import aged

pytestmark = pytest.mark.filterwarnings(f"ignore::{MCPDeprecationWarning.__module__}.MCPDeprecationWarning")
ASKING = {"elicitation": {"form": {}}}


class Name(BaseModel):
    name: str


class Asker:
    """A server of the old era whose tools ask, and its own log of what happened."""

    def __init__(self) -> None:
        self.effects: list[str] = []
        self.over = asyncio.Event()
        self.server = MCPServer("asker", log_level="ERROR")
        self.server.tool()(self.get_name)
        self.server.tool()(self.rename_user)
        self.server.tool()(self.get_thoughts)
        self.server.prompt("greet")(self.greet)

    async def get_name(self, ctx: Context[Any, Any]) -> str:
        """Gets the name of the user by asking."""
        return await self._ask(ctx, "Who are you?")

    async def rename_user(self, ctx: Context[Any, Any], to: str) -> str:
        """Renames the user, having asked twice."""
        self.effects.append("begun")
        old = await self._ask(ctx, "Who are you?")
        await ctx.report_progress(1, 2, "half")
        sure = await self._ask(ctx, f"Rename {old}?")
        self.effects.append(f"{old} is {to}: {sure}")
        return f"{old} is {to}"

    async def get_thoughts(self, ctx: Context[Any, Any]) -> str:
        """Gets what the model and the file system say."""
        metadata = ServerMessageMetadata(related_request_id=ctx.request_id)
        roots = await ctx.session.send_request(types.ListRootsRequest(), types.ListRootsResult, metadata=metadata)
        thought = await ctx.session.create_message(
            [types.SamplingMessage(role="user", content=types.TextContent(type="text", text="Think."))],
            max_tokens=9,
            related_request_id=ctx.request_id,
        )
        return f"{len(roots.roots)} {thought.content.text}"  # type: ignore[union-attr]

    async def greet(self, ctx: Context[Any, Any]) -> str:
        return f"Hello, {await self._ask(ctx, 'Who are you?')}"

    async def _ask(self, ctx: Context[Any, Any], text: str) -> str:
        try:
            answer = await ctx.elicit(text, Name)
        except BaseException:
            self.over.set()
            raise
        return getattr(getattr(answer, "data", None), "name", "nobody")


@asynccontextmanager
async def asking(folder: Path, *, alone: bool = True, **more: Any) -> AsyncIterator[tuple[str, GatewayApp, Asker]]:
    asker = Asker()
    prefix = "" if alone else "asker_"
    contracts = {
        f"{prefix}get_name": {"side_effect": "read"},
        f"{prefix}get_thoughts": {"side_effect": "read"},
        f"{prefix}rename_user": {"side_effect": "write"},
    }
    (folder / "asker.yaml").write_text(json.dumps({"tools": contracts}))
    async with serving(aged(asker.server.streamable_http_app(), "handshake")) as upstream:
        upstreams = {"asker": {"url": upstream}}
        if not alone:
            upstreams["dead"] = {"url": "http://127.0.0.1:9/mcp"}
        async with gateway(folder, upstreams, contracts=[str(folder / "asker.yaml")], **more) as (url, gateway_app):
            yield url, gateway_app, asker


class Person:
    """Answers every question with a name, and remembers what they were asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.asked.append(params.message)
        return types.ElicitResult(action="accept", content={"name": "Ann"})


def said(result: Any) -> str:
    return str(result.content[0].text)


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "one of several"])
async def test_questions_of_an_old_upstream_reach_a_modern_client_and_the_call_goes_on(
    alone: bool, tmp_path: Path
) -> None:
    person, progress = Person(), []

    async def on_progress(done: float, total: float | None, message: str | None) -> None:
        progress.append(done)

    prefix = "" if alone else "asker_"
    async with asking(tmp_path, alone=alone) as (url, gateway_app, asker):
        async with Client(url, mode="2026-07-28", elicitation_callback=person) as client:
            read = await client.call_tool(f"{prefix}get_name", {})
            written = await client.call_tool(f"{prefix}rename_user", {"to": "Eve"}, progress_callback=on_progress)
        await gateway_app.store.flush()
        states = [one.entry.facts["state"] for one in await gateway_app.store.entries() if "state" in one.entry.facts]
    assert (said(read), said(written)) == ("Ann", "Ann is Eve")
    assert person.asked == ["Who are you?", "Who are you?", "Rename Ann?"]
    assert asker.effects == ["begun", "Ann is Eve: Ann"], "one call, not one for each round"
    assert progress == [1]
    assert states == ["suspended", "suspended", "succeeded"]


async def test_the_model_and_the_roots_of_a_modern_client_can_be_asked_for(tmp_path: Path) -> None:
    async def think(context: Any, params: Any) -> types.CreateMessageResult:
        return types.CreateMessageResult(
            role="assistant", content=types.TextContent(type="text", text="Hm."), model="none"
        )

    async def roots(context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri="file:///home")])  # type: ignore[arg-type]

    async with asking(tmp_path) as (url, _, _asker):
        async with Client(url, mode="2026-07-28", sampling_callback=think, list_roots_callback=roots) as client:
            assert said(await client.call_tool("get_thoughts", {})) == "1 Hm."


async def test_a_prompt_may_ask_too(tmp_path: Path) -> None:
    async with asking(tmp_path, alone=False) as (url, _, _asker):
        async with Client(url, mode="2026-07-28", elicitation_callback=Person()) as client:
            greeting = await client.get_prompt("asker_greet", {})
    assert greeting.messages[0].content.text == "Hello, Ann"  # type: ignore[union-attr]


async def test_a_client_that_cannot_be_asked_gets_the_upstreams_own_error(tmp_path: Path) -> None:
    async with asking(tmp_path) as (url, gateway_app, _asker):
        answer = await call(url, "get_name", {}, capabilities={})
        assert answer["error"]["message"] == "the client cannot be asked"
        assert len(gateway_app.current.links["asker"].live.suspended_calls) == 0  # type: ignore[union-attr]


async def test_nobody_else_and_no_other_call_can_answer_a_question(tmp_path: Path) -> None:
    keys = [
        {"name": "ci", "key": CI, "kind": "agent", "scopes": ["*"]},
        {"name": "ann", "key": ANN_KEY, "kind": "human", "scopes": ["*"]},
    ]
    async with asking(tmp_path, auth={"api_keys": keys}) as (url, _, _asker):
        asked = await call(url, "get_name", {}, authorization=f"Bearer {CI}")
        retry = answered(asked)
        other = await call(url, "get_name", retry, authorization=f"Bearer {ANN_KEY}")
        elsewhere = await call(url, "get_thoughts", retry, authorization=f"Bearer {CI}")
        mine = await call(url, "get_name", retry, authorization=f"Bearer {CI}")
        again = await call(url, "get_name", retry, authorization=f"Bearer {CI}")
    for refused in (other, elsewhere):
        expected = "requestState: it belongs to another call or expired; call again without it"
        assert refused["error"]["message"] == expected
    assert again["error"]["message"] == "requestState: no call waits for this answer; call again without it"
    assert mine["result"]["content"][0]["text"] == "Ann"


async def test_a_question_that_was_not_answered_is_asked_again(tmp_path: Path) -> None:
    async with asking(tmp_path) as (url, _, _asker):
        asked = await call(url, "get_name", {})
        again = await call(url, "get_name", {**answered(asked), "inputResponses": {}})
        done = await call(url, "get_name", answered(again))
    assert again["result"]["inputRequests"] == asked["result"]["inputRequests"]
    assert done["result"]["content"][0]["text"] == "Ann"


async def test_a_call_that_no_longer_waits_is_in_doubt_if_it_had_begun(tmp_path: Path) -> None:
    async with asking(tmp_path) as (url, gateway_app, asker):
        asked = await call(url, "rename_user", {"arguments": {"to": "Eve"}})
        await gateway_app.current.links["asker"].close()  # type: ignore[union-attr]
        async with asyncio.timeout(10):
            await asker.over.wait()
        late = await call(url, "rename_user", {"arguments": {"to": "Eve"}, **answered(asked)})
    assert problem(late["result"])["code"] == "execute.in_doubt"
    assert asker.effects == ["begun"]


async def test_a_state_that_nobody_gave_out_runs_nothing(tmp_path: Path) -> None:
    async with asking(tmp_path) as (url, gateway_app, asker):
        made_up = {"requestState": "made-up", "inputResponses": {}}
        answer = await call(url, "rename_user", {"arguments": {"to": "Eve"}, **made_up})
        await gateway_app.store.flush()
        states = [one.entry.facts["state"] for one in await gateway_app.store.entries() if "state" in one.entry.facts]
    assert answer["error"]["code"] == types.INVALID_PARAMS
    assert (asker.effects, states) == ([], [])


class Stage:
    """An upstream that asks once and then answers, and a way back to a client that hears nothing."""

    async def ask(self, stream_listener: Any) -> dict[str, Any]:
        return {
            "said": await stream_listener.answer({"id": 7, "method": "elicitation/create", "params": {"message": "?"}})
        }

    async def open(self) -> None: ...

    async def notify(self, message: dict[str, Any]) -> None: ...


async def park(suspended_calls: SuspendedCalls, stage: Any) -> dict[str, Any]:
    return await suspended_calls.begin(stage.ask, "ann", "this", ASKING, stage)


async def test_an_owners_oldest_question_gives_way_to_its_newest() -> None:
    suspended_calls, stage = SuspendedCalls(most_of_one=2), Stage()
    states = [(await park(suspended_calls, stage))["requestState"] for _ in range(3)]
    assert len(suspended_calls) == 2
    with pytest.raises(UnknownRequestState):
        await suspended_calls.resume(states[0], "ann", "this", {}, stage)  # type: ignore[arg-type]
    done = await suspended_calls.resume(states[2], "ann", "this", {"question": {"action": "cancel"}}, stage)  # type: ignore[arg-type]
    assert done["said"] == {"jsonrpc": "2.0", "id": 7, "result": {"action": "cancel"}}
    await suspended_calls.close()
    assert len(suspended_calls) == 0


async def test_where_too_many_wait_an_upstream_is_told_that_nobody_can_be_asked() -> None:
    suspended_calls, stage = SuspendedCalls(most=1), Stage()
    await park(suspended_calls, stage)
    refused = await suspended_calls.begin(stage.ask, "bob", "this", ASKING, stage)  # type: ignore[arg-type]
    assert refused == {"said": None}
    assert len(suspended_calls) == 1, "nobody's question is given up for another's"
    await suspended_calls.close()


def test_what_a_client_can_be_asked_is_told_in_few_words() -> None:
    said = {
        "elicitation": {"form": {}, "x": 1},
        "sampling": {},
        "roots": {"listChanged": True},
        "extensions": {"a": {}},
    }
    assert asks_of(said) == {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}
    assert asks_of({"elicitation": "yes"}) == asks_of(None) == {}


async def test_a_call_waits_only_so_long() -> None:
    ended = asyncio.Event()

    class Patient(Stage):
        async def ask(self, stream_listener: Any) -> dict[str, Any]:
            try:
                return await super().ask(stream_listener)
            finally:
                ended.set()

    suspended_calls, stage = SuspendedCalls(waits=0.0), Patient()
    state = (await park(suspended_calls, stage))["requestState"]
    async with asyncio.timeout(10):
        await ended.wait()
    with pytest.raises(UnknownRequestState):
        await suspended_calls.resume(state, "ann", "this", {}, stage)  # type: ignore[arg-type]


def answered(asked: dict[str, Any]) -> dict[str, Any]:
    """What a client sends when it calls again."""
    (name,) = asked["result"]["inputRequests"]
    response = {"action": "accept", "content": {"name": "Ann"}}
    return {"inputResponses": {name: response}, "requestState": asked["result"]["requestState"]}


async def call(
    url: str, name: str, more: dict[str, Any], capabilities: dict[str, Any] = ASKING, **headers: str
) -> dict[str, Any]:
    """One request of the new era, and its response."""
    envelope = {
        types.PROTOCOL_VERSION_META_KEY: "2026-07-28",
        types.CLIENT_INFO_META_KEY: {"name": "test", "version": "1"},
        types.CLIENT_CAPABILITIES_META_KEY: capabilities,
    }
    fields = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name}
    params = {"name": name, "arguments": {}, **more, "_meta": envelope}
    return message_of(await post(url, rpc("tools/call", **params), **fields, **headers))


def message_of(answer: httpx2.Response) -> dict[str, Any]:
    """The response, whether it came alone or at the end of a stream."""
    if not answer.headers["content-type"].startswith("text/event-stream"):
        return dict(answer.json())
    events = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: {")]
    return dict(json.loads(events[-1]))
