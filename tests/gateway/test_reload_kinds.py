"""Commands and API descriptions come, change and go under a running gateway, or are refused whole."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from gateway.test_reload import call, desk, names
from support.clients.transports import ROOT, over_http
from support.gateway.gateways import Shop, post, rpc
from support.openapi.documents import ORDERS, document, ok
from support.openapi.service import Orders
from support.openapi.service import serving as serving_api

ODD = {"command": [sys.executable, str(ROOT / "tests" / "support" / "servers" / "odd_server.py")]}
PATIENT = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        info = {"name": "p", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    elif asked.get("method") == "tools/list":
        result = {"tools": [{"name": "get_news", "description": "Gets the news.", "inputSchema": {"type": "object"}}]}
    elif asked.get("method") == "tools/call":
        open(sys.argv[1], "w").write("asked")
        result = {"content": [{"type": "text", "text": open(sys.argv[2]).read()}]}
    elif "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


async def said(url: str, tool: str) -> str:
    answer = (await post(url, rpc("tools/call", name=tool, arguments={}))).json()
    return str(answer["result"]["content"][0]["text"])


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_command_comes_changes_and_goes_and_its_process_with_it(tmp_path: Path) -> None:
    async with over_http(Shop().server) as shop, desk(tmp_path, {"shop": {"url": shop}}, {}) as at:
        at.write({"shop": {"url": shop}, "odd": ODD}, {})
        assert await at.reloading.reload()
        assert {"shop_list_orders", "odd_list_things"} <= set(await names(at.url))
        first = int((await said(at.url, "odd_list_things")).split()[1])
        at.write({"shop": {"url": shop}, "odd": {**ODD, "env": {"A": "1"}}}, {})
        assert await at.reloading.reload()
        second = int((await said(at.url, "odd_list_things")).split()[1])
        await asyncio.gather(*at.gateway_app.runtime.upstream_factory.retiring)
        assert first != second
        assert not runs(first)
        at.write({"shop": {"url": shop}}, {})
        assert await at.reloading.reload()
        await asyncio.gather(*at.gateway_app.runtime.upstream_factory.retiring)
        assert not runs(second)
        assert await call(at.url, "list_orders", limit=1) == {"result": ["o-0"]}


async def test_a_call_to_a_removed_command_ends_before_its_process_does(tmp_path: Path) -> None:
    asked, news = tmp_path / "asked", tmp_path / "news"
    os.mkfifo(asked)
    os.mkfifo(news)
    (tmp_path / "server.py").write_text(PATIENT)
    command = {"command": [sys.executable, str(tmp_path / "server.py"), str(asked), str(news)], "prefix": ""}
    async with over_http(Shop().server) as shop, desk(tmp_path, {"p": command, "shop": {"url": shop}}, {}) as at:
        under_way = asyncio.create_task(said(at.url, "get_news"))
        assert await asyncio.to_thread(asked.read_text) == "asked"
        at.write({"shop": {"url": shop}}, {})
        assert await at.reloading.reload()
        assert "get_news" not in await names(at.url)
        await asyncio.to_thread(news.write_text, "good")
        assert await under_way == "good"
        await asyncio.gather(*at.gateway_app.runtime.upstream_factory.retiring)


async def test_a_command_that_is_missing_is_a_trouble_of_its_own_as_it_is_at_the_start(tmp_path: Path) -> None:
    async with over_http(Shop().server) as shop, desk(tmp_path, {"shop": {"url": shop}}, {}) as at:
        at.write({"shop": {"url": shop}, "gone": {"command": ["no-such-command-at-all"]}}, {})
        assert await at.reloading.reload()
        assert "the command 'no-such-command-at-all' was not found" in at.gateway_app.tools.troubles["gone"]
        assert "shop_list_orders" in await names(at.url)


async def test_an_api_comes_changes_and_goes(tmp_path: Path) -> None:
    (tmp_path / "orders.json").write_text(json.dumps(ORDERS))
    (tmp_path / "less.json").write_text(
        json.dumps(document({"/orders": {"get": {"operationId": "see", "responses": ok({"type": "array"})}}}))
    )
    async with (
        serving_api(Orders().app()) as base,
        over_http(Shop().server) as shop,
        desk(tmp_path, {"shop": {"url": shop}}, {}) as at,
    ):
        api = {"openapi": "orders.json", "base_url": base, "prefix": "api_"}
        at.write({"shop": {"url": shop}, "api": api}, {})
        assert await at.reloading.reload()
        assert await call(at.url, "api_list_orders") == {"items": [], "count": 0}
        at.write({"shop": {"url": shop}, "api": {**api, "openapi": "less.json"}}, {})
        assert await at.reloading.reload()
        assert [name for name in await names(at.url) if name.startswith("api_")] == ["api_see"]
        assert await call(at.url, "api_see") == {"items": [], "count": 0}
        at.write({"shop": {"url": shop}}, {})
        assert await at.reloading.reload()
        assert "list_orders" in await names(at.url)
        assert at.gateway_app.runtime.upstream_factory.pools_of("api") == []


async def test_a_watched_document_that_changes_is_used_and_a_broken_one_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "orders.json").write_text(json.dumps(ORDERS))
    api = {"openapi": "orders.json", "base_url": "http://127.0.0.1:9"}
    async with desk(tmp_path, {"api": api}, {}) as at:
        before = await names(at.url)
        (tmp_path / "orders.json").write_text("{")
        await at.reloading.look()
        await at.gateway_app.reload("api")
        assert await names(at.url) == before
        assert "not valid JSON" in at.gateway_app.tools.troubles["api"]
        (tmp_path / "orders.json").write_text(json.dumps(document()))
        await at.reloading.look()
        await at.gateway_app.reload("api")
        assert await names(at.url) == []
        assert at.gateway_app.tools.troubles == {}


@pytest.mark.parametrize(
    ("upstreams", "reason"),
    [
        ({"api": {"openapi": "missing.json", "base_url": "http://127.0.0.1:9"}}, "missing.json: cannot be read"),
        ({"api": {"openapi": "broken.json", "base_url": "http://127.0.0.1:9"}}, "not valid JSON"),
        ({"api": {"openapi": "broken.json"}}, "openapi needs base_url"),
        ({"odd": {"command": []}}, "the command is empty"),
        ({"odd": {**ODD, "url": "http://127.0.0.1:9/mcp"}}, "exactly one of command, url and openapi"),
    ],
    ids=["missing", "broken", "nowhere", "empty", "two"],
)
async def test_an_upstream_that_cannot_be_is_refused_and_nothing_changes(
    upstreams: dict[str, Any], reason: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "broken.json").write_text("{")
    async with over_http(Shop().server) as shop, desk(tmp_path, {"shop": {"url": shop}}, {}) as at:
        before, pools = at.gateway_app.current.catalogue, list(at.gateway_app.runtime.upstream_factory.pools)
        at.write({"shop": {"url": shop}, **upstreams}, {})
        assert not await at.reloading.reload()
        assert (
            at.gateway_app.current.catalogue,
            at.gateway_app.runtime.upstream_factory.pools,
            list(at.gateway_app.current.links),
        ) == (
            before,
            pools,
            ["shop"],
        )
        assert await call(at.url, "list_orders", limit=1) == {"result": ["o-0"]}
    assert reason in caplog.text


async def test_tools_in_each_others_way_are_refused_and_the_process_that_was_started_ends(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    note = tmp_path / "pid"
    script = tmp_path / "server.py"
    script.write_text(f"import os\nopen({str(note)!r}, 'w').write(str(os.getpid()))\n{PATIENT}")
    first = {"command": [sys.executable, str(script)], "prefix": ""}
    paths = {"/news": {"get": {"operationId": "get_news", "responses": ok({"type": "object"})}}}
    (tmp_path / "api.json").write_text(json.dumps(document(paths)))
    api = {"openapi": "api.json", "base_url": "http://127.0.0.1:9", "prefix": ""}
    async with desk(tmp_path, {"api": api}, {}) as at:
        at.write({"api": api, "p": first}, {})
        assert not await at.reloading.reload()
        assert not runs(int(note.read_text()))
        assert await names(at.url) == ["get_news"]
        assert list(at.gateway_app.current.links) == ["api"]
    assert "get_news" in caplog.text


async def test_a_changed_document_in_anothers_way_is_refused_with_the_settings_it_came_with(tmp_path: Path) -> None:
    for name in ("one", "two"):
        paths = {f"/{name}": {"get": {"operationId": f"get_{name}", "responses": ok({"type": "object"})}}}
        (tmp_path / f"{name}.json").write_text(json.dumps(document(paths)))
    one = {"openapi": "one.json", "base_url": "http://127.0.0.1:9", "prefix": ""}
    two = {**one, "openapi": "two.json"}
    async with desk(tmp_path, {"a": one, "b": two}, {}) as at:
        before = at.gateway_app.settings
        at.write({"a": one, "b": one}, {})
        assert not await at.reloading.reload()
        assert at.gateway_app.settings is before
        assert await names(at.url) == ["get_one", "get_two"]


async def test_a_lock_file_is_watched_and_a_broken_one_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "api.json").write_text(json.dumps(ORDERS))
    api = {"openapi": "api.json", "base_url": "http://127.0.0.1:9", "prefix": "api_"}
    async with (
        over_http(Shop().server) as shop,
        desk(tmp_path, {"a": {"url": shop}, "api": api}, {}, pins="p.lock") as at,
    ):
        everything = await names(at.url)
        (tmp_path / "p.lock").write_text(json.dumps({"version": 1, "upstreams": {}}))
        await at.reloading.look()
        assert [name for name in everything if name.startswith("api_")] == await names(at.url), "an API is not pinned"
        (tmp_path / "p.lock").write_text("{")
        await at.reloading.look()
        await at.gateway_app.reload("a")
        assert "p.lock" in at.gateway_app.tools.troubles["a"]
        assert "the new configuration is not used" in caplog.text
        (tmp_path / "p.lock").unlink()
        await at.reloading.look()
        assert await names(at.url) == everything
