"""Tasks are not governed, so no caller is offered one, no upstream is asked for one, and none is passed on."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from support.gateway.gateways import HEADERS, gateway, post, rpc
from support.gateway.wrap_process import home, running
from support.servers import task_server
from support.servers.loopback_server import serving
from support.servers.task_server import CAPABILITIES, EXTENSION, MODERN, OLD, TaskApp

CLIENT = {"name": "t", "version": "0"}
ABLE = {"tasks": {"requests": {"elicitation": {"create": {}}}}, "extensions": {EXTENSION: {}}, "roots": {}}
TASK_METHODS = ("tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update")
CONTRACTS: dict[str, Any] = {"contracts": []}


@asynccontextmanager
async def in_front(folder: Path, *apps: TaskApp, **more: Any) -> AsyncIterator[str]:
    """A gateway before these servers."""
    async with serving(apps[0]) as one, serving(apps[-1]) as other:
        urls = {"one": one, "other": other} if len(apps) > 1 else {"one": one}
        upstreams = {name: {"url": url} for name, url in urls.items()}
        async with gateway(folder, upstreams, **CONTRACTS, **more) as (url, _):
            yield url


def read(response: httpx2.Response) -> dict[str, Any]:
    """The message in an answer, be it JSON or a stream of events."""
    if response.headers["content-type"].startswith("application/json"):
        return response.json()
    lines = [line.removeprefix("data:").strip() for line in response.text.splitlines() if line.startswith("data:")]
    return json.loads(next(line for line in lines if line))


async def modern(url: str, method: str, **params: Any) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        CAPABILITIES: ABLE,
        "io.modelcontextprotocol/clientInfo": CLIENT,
    }
    headers = {"mcp-protocol-version": MODERN, "mcp-method": method}
    if "name" in params:
        headers["mcp-name"] = params["name"]
    return read(await post(url, rpc(method, **params, _meta=meta), **headers))


async def greeted(url: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The answer to a handshake, and the headers of its session."""
    said = await post(url, rpc("initialize", protocolVersion=OLD, capabilities=ABLE, clientInfo=CLIENT))
    headers = {"mcp-session-id": said.headers["mcp-session-id"], "mcp-protocol-version": OLD}
    await post(url, {"jsonrpc": "2.0", "method": "notifications/initialized"}, **headers)
    return read(said)["result"], headers


@pytest.mark.parametrize("streams", [False, True], ids=["json", "events"])
async def test_the_tasks_of_one_upstream_are_advertised_in_neither_era(streams: bool, tmp_path: Path) -> None:
    app = TaskApp(streams=streams)
    async with in_front(tmp_path, app) as url:
        old, _ = await greeted(url)
        new = (await modern(url, "server/discover"))["result"]
    for said in (old, new):
        assert said["capabilities"] == {"tools": {"listChanged": True}, "extensions": {"example.com/other": {}}}
    assert old["serverInfo"]["name"] == "tasks"


async def test_merged_upstreams_advertise_no_tasks(tmp_path: Path) -> None:
    async with in_front(tmp_path, TaskApp(), TaskApp(modern=False)) as url:
        old, _ = await greeted(url)
        new = (await modern(url, "server/discover"))["result"]
    for said in (old, new):
        assert "tasks" not in said["capabilities"]
        assert EXTENSION not in said["capabilities"].get("extensions", {})


@pytest.mark.parametrize("count", [1, 2])
async def test_an_upstream_is_not_told_that_the_client_knows_tasks(count: int, tmp_path: Path) -> None:
    app = TaskApp()
    async with in_front(tmp_path, *[app] * count) as url:
        _, session = await greeted(url)
        await modern(url, "tools/call", name="one_get_report" if count > 1 else "get_report", arguments={})
        await modern(url, "resources/list")
        await post(url, rpc("resources/list"), **session)
    assert "tools/call" in app.methods()
    assert EXTENSION not in json.dumps(app.heard)
    assert '"tasks"' not in json.dumps(app.heard)


async def test_tools_are_listed_without_task_support_and_one_that_is_only_a_task_is_withheld(tmp_path: Path) -> None:
    async with in_front(tmp_path, TaskApp()) as url:
        listed = (await modern(url, "tools/list"))["result"]["tools"]
    assert {tool["name"]: tool.get("execution") for tool in listed} == {
        "get_report": {"x": 1},
        "get_status": None,
        "write_report": None,
    }


CALL: dict[str, Any] = {"name": "get_report", "arguments": {}, "task": {"ttl": 1000}}


async def test_a_call_that_asks_to_be_a_task_is_refused_and_reaches_nobody(tmp_path: Path) -> None:
    app = TaskApp()
    async with in_front(tmp_path, app) as url:
        _, session = await greeted(url)
        said = read(await post(url, rpc("tools/call", **CALL), **session))
    assert said["error"]["code"] == -32601
    assert said["error"]["message"] == "Tools are not called as tasks here; nothing was started."
    assert said["error"]["data"]["code"] == "validate.task_unsupported"
    assert said["error"]["data"]["remedy"] == "Call the tool without `task`."
    assert "tools/call" not in app.methods()


async def test_in_the_modern_era_the_old_parameter_is_ignored_and_not_passed_on(tmp_path: Path) -> None:
    app = TaskApp()
    async with in_front(tmp_path, app) as url:
        said = await modern(url, "tools/call", **CALL)
    assert said["result"]["content"][0]["text"] == "done"
    assert all("task" not in message.get("params", {}) for message in app.heard)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("method", TASK_METHODS)
async def test_nobody_reaches_a_task_at_the_upstream(method: str, count: int, tmp_path: Path) -> None:
    app = TaskApp()
    async with in_front(tmp_path, *[app] * count) as url:
        _, session = await greeted(url)
        answers = [
            await modern(url, method, taskId="t-1"),
            read(await post(url, rpc(method, taskId="t-1"), **session)),
        ]
    assert all(said["error"]["code"] == -32601 for said in answers)
    assert method not in app.methods()


async def test_a_listener_hears_of_no_tasks(tmp_path: Path) -> None:
    app = TaskApp()
    async with in_front(tmp_path, app) as url:
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            CAPABILITIES: ABLE,
            "io.modelcontextprotocol/clientInfo": CLIENT,
        }
        wanted = rpc("subscriptions/listen", notifications={"taskIds": ["t-1"]}, _meta=meta)
        headers = {**HEADERS, "mcp-protocol-version": MODERN, "mcp-method": "subscriptions/listen"}
        async with (
            httpx2.AsyncClient(timeout=30) as client,
            client.stream("POST", url, json=wanted, headers=headers) as events,
        ):
            said = await anext(line async for line in events.aiter_lines() if line.startswith("data:"))
    assert json.loads(said.removeprefix("data:"))["params"]["notifications"] == {}
    asked = [message for message in app.heard if message["method"] == "subscriptions/listen"]
    assert all("taskIds" not in message["params"].get("notifications", {}) for message in asked)


@pytest.mark.parametrize("speaks_modern", [True, False])
async def test_a_task_that_nobody_asked_for_leaves_the_call_in_doubt(speaks_modern: bool, tmp_path: Path) -> None:
    app = TaskApp(modern=speaks_modern, always=True)
    async with in_front(tmp_path, app) as url:
        said = (await modern(url, "tools/call", name="write_report", arguments={}))["result"]
    assert said["isError"] is True
    assert said["structuredContent"]["code"] == "execute.in_doubt"


@pytest.mark.parametrize("options", [[], ["--old"]], ids=["modern server", "old server"])
async def test_a_wrapped_server_has_no_tasks(options: list[str], tmp_path: Path) -> None:
    async with running(home(tmp_path), sys.executable, task_server.__file__, *options) as wrap:
        said = await wrap.greet(**ABLE)
        capabilities = said["result"]["capabilities"]
        assert "tasks" not in capabilities and EXTENSION not in capabilities.get("extensions", {})
        await wrap.say("tools/list", 1)
        listed = (await wrap.hear())["result"]["tools"]
        assert "taskSupport" not in json.dumps(listed)
        assert "get_study" not in {tool["name"] for tool in listed}
        for number, method in enumerate(TASK_METHODS, 2):
            await wrap.say(method, number, taskId="t-1")
            assert (await wrap.hear())["error"]["code"] == -32601
        await wrap.say("tools/call", 10, name="get_report", arguments={}, task={})
        assert (await wrap.hear())["error"]["data"]["code"] == "validate.task_unsupported"
        await wrap.say("tools/call", 11, name="get_report", arguments={})
        assert (await wrap.hear())["result"]["content"][0]["text"] == "done"
