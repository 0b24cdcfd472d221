"""The console of library servers: `assent console --store` in its own process, and `Assent(console=True)`."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner
from fastmcp import FastMCP
from mcp import Client
from mcp.server import MCPServer

from assent import Assent, Principal, contract
from assent.cli import cli
from assent.core.problems import problem_in
from assent.errors import SettingsError
from assent.fastmcp import Assent as FastMCPAssent
from assent.library.integration import record_tools
from assent.stores import SqliteStore
from assent.web.asgi import App
from support.console.chromium import chromium_page, needs_chromium
from support.console.plain_browser import Browser, browser
from support.processes.servers import commanded
from support.servers.loopback_server import serving

ASSENT = str(Path(sys.executable).with_name("assent"))
AGENT = Principal("agent", "agent", scopes=frozenset({"*"}))


def shop(make: Any, **options: Any) -> tuple[Any, Any]:
    """A server with one tool of each end of the scale, and its Assent."""
    assent = make(anonymous=AGENT, **options)
    extended = {"extensions": [assent.extension()]} if make is Assent else {}
    server: Any = (MCPServer if make is Assent else FastMCP)("shop", **extended)

    @server.tool()
    @contract(side_effect="destructive", activity="Deleted order {order_id}", confirmation={"by": "approver"})
    def delete_order(order_id: str) -> str:
        """Deletes an order for good."""
        return f"deleted {order_id}"

    @server.tool()
    @contract(side_effect="read")
    def list_orders() -> str:
        """Lists orders."""
        return "none"

    assent.apply(server)
    return assent, server


async def ask_in_library(folder: Path) -> dict[str, Any]:
    """Let a library server on `shop.db` ask for an approval, then end it; the problem that its caller got."""
    assent, server = shop(Assent, store=f"sqlite:///{folder}/shop.db", principal=lambda _: AGENT)
    async with Client(server) as client:
        result = await client.call_tool("delete_order", {"order_id": "o-1"})
    await assent.close()
    return dict(problem_in(result.model_dump(by_alias=True)) or {})


@asynccontextmanager
async def store_console(folder: Path) -> AsyncIterator[tuple[str, str]]:
    """`assent console --store` as a process: the address of the console, and the link that it printed."""
    command = [ASSENT, "console", "--store", f"sqlite:///{folder}/shop.db"]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            link = (await process.stdout.readline()).decode().strip()
        assert link.startswith("http://127.0.0.1:"), link
        yield link.partition("/console/")[0], link
    finally:
        process.terminate()
        assert await process.wait() == 0


async def signed_in(person: Browser, link: str) -> Browser:
    token = link.partition("link=")[2]
    assert (await person.post("/console/signin/link", {"link": token})).status_code == 303
    return person


async def test_a_call_of_a_library_server_is_decided_in_the_console_of_its_store(tmp_path: Path) -> None:
    asked = await ask_in_library(tmp_path)
    async with store_console(tmp_path) as (url, link), browser(url) as person:
        await signed_in(person, link)
        page = f"/console/approvals/{asked['approval']}"
        assert "o-1" in (await person.get(page)).text
        assert (await person.send(f"{page}/approve")).status_code == 303
    assent, server = shop(Assent, store=f"sqlite:///{tmp_path}/shop.db", principal=lambda _: AGENT)
    async with Client(server) as client:
        result = await client.call_tool("delete_order", {"order_id": "o-1"})
    await assent.close()
    assert not result.is_error


async def test_feed_tools_audit_and_stop_switch_of_a_library_server_are_there(tmp_path: Path) -> None:
    await ask_in_library(tmp_path)
    async with store_console(tmp_path) as (url, link), browser(url) as person:
        await signed_in(person, link)
        tools = (await person.get("/console/tools")).text
        assert tools.index("delete_order") < tools.index("list_orders"), "the riskiest is first"
        assert ">shop<" in tools
        assert "Deletes an order for good." in (await person.get("/console/tools/tool/delete_order")).text
        assert "list_orders" not in (await person.get("/console/tools?tier=destructive")).text
        assert "Asked to delete order (order_id: o-1)" in (await person.get("/console/activity")).text
        assert (await person.get("/console/audit")).status_code == 200
        assert (await person.get("/console/claims")).status_code == 200
        stop = {"scope": "tool", "target": "delete_order", "reason": "It went wrong.", "level": "all"}
        assert (await person.send("/console/stop", stop)).status_code == 303
    assent, server = shop(Assent, store=f"sqlite:///{tmp_path}/shop.db", principal=lambda _: AGENT)
    async with Client(server) as client:
        result = await client.call_tool("delete_order", {"order_id": "o-1"})
    await assent.close()
    assert dict(problem_in(result.model_dump(by_alias=True)) or {})["code"] == "authorize.stopped"


async def test_pages_that_need_a_gateway_are_neither_linked_nor_there(tmp_path: Path) -> None:
    await ask_in_library(tmp_path)
    async with store_console(tmp_path) as (url, link), browser(url) as person:
        await signed_in(person, link)
        there = ("approvals", "tools", "audit", "activity", "stop", "claims", "account", "tools/tool/delete_order",
                 "agents", "search?q=order")  # fmt: skip
        pages = [await person.get(f"/console/{name}") for name in there]
        assert {one.status_code for one in pages} == {200}
        for name in (
            "overview",
            "upstreams",
            "keys",
            "accounts",
            "connections",
            "tools/changes",
            "conversations",
            "rules",
        ):
            assert (await person.get(f"/console/{name}")).status_code == 404
            assert not [one for one in pages if f'"/console/{name}"' in one.text], name


async def test_the_console_of_a_store_listens_on_this_machine_only_and_needs_the_link(tmp_path: Path) -> None:
    await ask_in_library(tmp_path)
    async with store_console(tmp_path) as (url, link), browser(url) as person, browser(url) as thief:
        assert (await thief.get("/console/approvals")).headers["location"].startswith("/console/signin")
        assert (await thief.get("/console/approvals", host="evil.example")).status_code == 421
        await signed_in(person, link)
        assert (await thief.post("/console/signin/link", {"link": link.partition("link=")[2]})).status_code == 403


async def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, from a folder that has no configuration."""
    more: Any = {"capture_output": True, "text": True, "timeout": 60, "cwd": "/"}
    return await asyncio.to_thread(subprocess.run, command, **more)


def opened(url: str) -> tuple[int, str]:
    """The exit code and the words of `assent console --store URL` where it cannot serve."""
    result = CliRunner().invoke(cli, ["console", "--store", url])
    said = result.exception if isinstance(result.exception, SettingsError) else result.output
    return result.exit_code, str(said)


def test_a_store_that_does_not_exist_is_named_and_not_made(tmp_path: Path) -> None:
    code, said = opened(f"sqlite:///{tmp_path}/gone.db")
    assert code != 0
    assert "there is no store" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("url", "words"), [("memory://", "belongs to one process"), ("shop.db", "not the URL")])
def test_what_is_no_store_of_another_process_is_refused(url: str, words: str) -> None:
    code, said = opened(url)
    assert code != 0
    assert words in said


async def test_a_store_that_cannot_be_written_is_refused_with_the_reason(tmp_path: Path) -> None:
    await ask_in_library(tmp_path)
    (tmp_path / "shop.db").chmod(0o444)
    tmp_path.chmod(0o555)
    plain = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]  # root may write everything
    command = [*plain, ASSENT, "console", "--store", f"sqlite:///{tmp_path}/shop.db"]
    try:
        done = await run(command)
    finally:
        tmp_path.chmod(0o755)
    assert done.returncode == 2
    assert "cannot be written" in done.stderr


async def test_a_store_with_a_running_gateway_gets_the_link_to_its_console(tmp_path: Path) -> None:
    store, keys = f"sqlite:///{tmp_path}/shop.db", {"directory": str(tmp_path)}
    settings = {"store": store, "secrets": keys, "upstreams": {"gone": {"url": "http://127.0.0.1:9/mcp"}}}
    (tmp_path / "assent.yaml").write_text(json.dumps(settings))
    async with commanded("serve", "-c", str(tmp_path / "assent.yaml"), "--port", "0") as served:
        url = (await served.said(r"People decide at (\S+)/console/"))[1]
        done = await run([ASSENT, "console", "--store", store])
    assert done.stdout.startswith(f"{url}/console/signin?link="), done.stderr
    assert "A gateway uses this store" in done.stderr


async def test_two_servers_with_a_tool_of_one_name_are_both_listed_and_the_riskier_is_shown(tmp_path: Path) -> None:
    await ask_in_library(tmp_path)
    other = Assent(store=f"sqlite:///{tmp_path}/shop.db")
    server = MCPServer("archive", extensions=[other.extension()])
    server.tool()(contract(side_effect="read")(delete_order))
    other.apply(server)
    await record_tools("archive", other.ports)
    await other.close()
    async with store_console(tmp_path) as (url, link), browser(url) as person:
        await signed_in(person, link)
        assert (await person.get("/console/tools")).text.count("<strong>delete_order</strong>") == 2
        assert "Deletes an order for good." in (await person.get("/console/tools/tool/delete_order")).text


def delete_order(order_id: str) -> str:
    """Only pretends to delete."""
    return order_id


@asynccontextmanager
async def mounted(make: Any, folder: Path, **options: Any) -> AsyncIterator[tuple[str, Any]]:
    """A library server over HTTP with its own console."""
    assent, server = shop(make, **{"store": f"sqlite:///{folder}/shop.db", "console": True, **options})
    app: App = (
        server.streamable_http_app(stateless_http=True, json_response=True)
        if make is Assent
        else server.http_app(stateless_http=True, json_response=True)
    )
    async with serving(app) as url:
        yield url.removesuffix("/mcp"), assent
    await assent.close()


async def call(url: str, **arguments: str) -> dict[str, Any]:
    body = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "delete_order", "arguments": arguments}
    }  # fmt: skip
    async with httpx2.AsyncClient(timeout=60) as client:
        fields = {"accept": "application/json, text/event-stream"}
        answer = await client.post(f"{url}/mcp", json=body, headers=fields)
    result: dict[str, Any] = answer.json()["result"]
    return result


@pytest.mark.parametrize("make", [Assent, FastMCPAssent])
async def test_a_library_server_serves_its_console_beside_its_tools(
    make: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with mounted(make, tmp_path) as (url, _), browser(url) as person:
        asked = dict(problem_in(await call(url, order_id="o-7")) or {})
        assert asked["approval_url"] == f"{url}/console/approvals/{asked['approval']}"
        assert "printed a link" in (await person.get("/console/signin")).text
        printed = capfd.readouterr().err
        await signed_in(person, printed[printed.index(f"{url}/console/signin?link=") :].split()[0])
        assert "o-7" in (await person.get(f"/console/approvals/{asked['approval']}")).text
        assert (await person.send(f"/console/approvals/{asked['approval']}/approve")).status_code == 303
        assert not (await call(url, order_id="o-7")).get("isError")


async def test_a_memory_store_has_a_console_inside_its_server(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with mounted(Assent, tmp_path, store="memory://") as (url, _), browser(url) as person:
        asked = dict(problem_in(await call(url, order_id="o-7")) or {})
        assert "assent " not in asked["remedy"], "no command reaches this store"
        await person.get("/console/signin")
        printed = capfd.readouterr().err
        await signed_in(person, printed[printed.index(f"{url}/console/signin?link=") :].split()[0])
        assert "o-7" in (await person.get(f"/console/approvals/{asked['approval']}")).text


async def test_a_sign_in_link_is_printed_once_a_minute_at_most(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with mounted(Assent, tmp_path) as (url, _), browser(url) as person:
        for _ in range(3):
            await person.get("/console/signin")
        assert capfd.readouterr().err.count("/console/signin?link=") == 1


async def test_a_library_console_answers_to_its_own_names_only(tmp_path: Path) -> None:
    async with mounted(Assent, tmp_path, console="https://shop.example.com") as (url, assent), browser(url) as person:
        assert (await person.get("/console/signin", host="evil.example")).status_code == 421
        assert (await person.get("/console/signin", host="shop.example.com")).status_code == 200
        assert assent.ports.page("approvals/x") == "https://shop.example.com/console/approvals/x"


async def test_a_server_without_the_option_has_no_console(tmp_path: Path) -> None:
    async with mounted(Assent, tmp_path, console=False) as (url, assent), browser(url) as person:
        assert (await person.get("/console/signin")).status_code == 404
        with pytest.raises(SettingsError, match="console=True"):
            assent.console_app()


async def test_the_message_of_a_waiting_call_names_a_command_that_works(tmp_path: Path) -> None:
    asked = await ask_in_library(tmp_path)
    command = asked["remedy"].split("`")[1].split()
    assert command[:3] == ["assent", "approvals", "approve"]
    decided = await run([ASSENT, *command[1:], "--yes"])
    assert decided.returncode == 0, decided.stderr
    store = SqliteStore(tmp_path / "shop.db")
    found = await store.approval(asked["approval"])
    await store.close()
    assert found is not None
    assert found.decisions


@needs_chromium
async def test_a_person_decides_a_library_call_in_a_real_browser(tmp_path: Path) -> None:
    await ask_in_library(tmp_path)
    async with store_console(tmp_path) as (_, link), chromium_page() as page:
        await page.goto(link)
        await page.wait_for_url("**/console/approvals")
        await page.get_by_role("link", name="delete_order").first.click()
        await page.get_by_role("button", name="Approve").click()
        await page.get_by_text("Approved. The agent's next identical call runs.").wait_for()
        await page.get_by_role("link", name="Tools").click()
        await page.get_by_role("link", name="delete_order").wait_for()
