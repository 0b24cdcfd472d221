"""The command line and a running gateway share one SQLite file, each in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from support.clients.transports import over_http
from support.decisions.problems import problem
from support.gateway.gateways import Shop, configuration, post, rpc

ASSENT = (sys.executable, "-c", "from assent.cli import main; main()")


@asynccontextmanager
async def gateway_process(config: Path) -> AsyncIterator[str]:
    """`assent serve` on a free port; gives the address of its `/mcp`."""
    process = await asyncio.create_subprocess_exec(
        *ASSENT, "serve", "-c", str(config), "--port", "0", stderr=asyncio.subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        while not (found := re.search(r"http://\S+/mcp", (await process.stderr.readline()).decode())):
            assert process.returncode is None
        yield found[0]
    finally:
        process.send_signal(signal.SIGTERM)
        await process.communicate()
        assert process.returncode == 0


async def assent(config: Path, *words: str, also: bool = False) -> str:
    """What a command prints, with `also` on standard error too."""
    process = await asyncio.create_subprocess_exec(
        *ASSENT, *words, "-c", str(config), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return (out + err if also else out).decode().strip()


def configuration_file(folder: Path, shop: str, **more: str) -> Path:
    path = folder / "assent.yaml"
    path.write_text(configuration(folder, {"shop": {"url": shop}}, **more))
    return path


async def doctor(config: Path) -> str:
    """What `assent doctor` prints for a person whose home is empty."""
    process = await asyncio.create_subprocess_exec(
        *ASSENT,
        "doctor",
        "-c",
        str(config),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, "HOME": str(config.parent / "home")},
    )
    return (await process.communicate())[0].decode()


async def test_the_console_of_the_gateway_that_still_runs_is_found(tmp_path: Path) -> None:
    async with over_http(Shop().server) as shop:
        config = configuration_file(tmp_path, shop)
        async with gateway_process(config) as first:
            async with gateway_process(config) as second:
                assert (await assent(config, "console")).startswith(second.removesuffix("/mcp"))
            assert (await assent(config, "console")).startswith(first.removesuffix("/mcp"))
            assert f"a gateway on this store answers at {first.removesuffix('/mcp')}\n" in await doctor(config)
            (tmp_path / "client.json").write_text(json.dumps({"mcpServers": {"gate": {"url": first}}}))
            init = await assent(config, "init", "--client", str(tmp_path / "client.json"), also=True)
            assert f"gate is not changed: {first} is a gateway of yours.\nNo change is needed" in init
        assert "a gateway on this store answers" not in await doctor(config)


async def test_a_gateway_on_another_store_is_not_taken_for_ours(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    async with over_http(Shop().server) as shop, gateway_process(configuration_file(tmp_path / "other", shop)) as other:
        config = configuration_file(tmp_path, shop, public_url=other.removesuffix("/mcp"))
        assert "uses another store" in await doctor(config)
        assert not (tmp_path / "assent.db").exists()


async def test_the_gateway_says_what_waits_what_was_refused_and_who_came_with_a_wrong_key(tmp_path: Path) -> None:
    async with over_http(Shop().server) as shop:
        config = configuration_file(tmp_path, shop)
        process = await asyncio.create_subprocess_exec(
            *ASSENT, "serve", "-c", str(config), "--port", "0", stderr=asyncio.subprocess.PIPE
        )
        assert process.stderr is not None
        while not (found := re.search(r"http://\S+/mcp", (await process.stderr.readline()).decode())):
            assert process.returncode is None
        delete = rpc("tools/call", name="delete_order", arguments={"order_id": "o-1"})
        waits = problem((await post(found[0], delete)).json()["result"])
        await post(found[0], rpc("tools/call", name="delete_order", arguments={"order_id": 7}))
        for _ in range(3):
            await post(found[0], rpc("tools/list"), authorization="Bearer assent_nobody_has_this_key")
        process.send_signal(signal.SIGTERM)
        lines = (await process.communicate())[1].decode().splitlines()
    page = f"{found[0].removesuffix('mcp')}console/"
    assert any(page in line and "assent console" in line for line in lines)
    assert any("Waiting: delete_order" in line and f"{page}approvals/{waits['approval']}" in line for line in lines)
    assert any("Refused: delete_order: validate." in line for line in lines)
    assert len([line for line in lines if "Wrong credentials from 127.0.0.1" in line]) == 1


async def test_an_approval_given_at_the_command_line_lets_the_waiting_call_through(tmp_path: Path) -> None:
    shop, config = Shop(), tmp_path / "assent.yaml"
    delete = rpc("tools/call", name="delete_order", arguments={"order_id": "o-1"})
    async with over_http(shop.server) as upstream:
        config.write_text(configuration(tmp_path, {"shop": {"url": upstream}}))
        async with gateway_process(config) as url:
            waiting = problem((await post(url, delete)).json()["result"])
            assert waiting["code"] == "confirm.approval_pending"
            listed = json.loads(await assent(config, "approvals", "list", "--format", "json"))
            assert [one["id"] for one in listed] == [waiting["approval"]]
            said = await assent(config, "approvals", "approve", waiting["approval"], "--yes")
            assert said == f"{waiting['approval']}: approved"
            done = (await post(url, delete)).json()["result"]
            assert done["structuredContent"] == {"deleted": "o-1"}
            calls = [post(url, rpc("tools/call", name="list_orders", arguments={})) for _ in range(20)]
            looks = [assent(config, "approvals", "list", "--all") for _ in range(2)]
            answers, lists = await asyncio.gather(asyncio.gather(*calls), asyncio.gather(*looks))
            assert all(answer.status_code == 200 for answer in answers)
            assert all("consumed" in text for text in lists)
    assert shop.effects == ["delete o-1"]


async def test_a_key_made_at_the_command_line_is_good_at_once_and_soon_not_once_it_is_revoked(tmp_path: Path) -> None:
    shop, config = Shop(), tmp_path / "assent.yaml"
    async with over_http(shop.server) as upstream:
        config.write_text(configuration(tmp_path, {"shop": {"url": upstream}}, auth={}))
        async with gateway_process(config) as url:
            key = await assent(config, "keys", "create", "ci", "--kind", "agent", "--scope", "*")

            async def status() -> int:
                return (await post(url, rpc("tools/list"), authorization=f"Bearer {key}")).status_code

            assert await status() == 200
            await assent(config, "keys", "revoke", key[:15])
            async with asyncio.timeout(10):
                while await status() == 200:
                    pass
            assert await status() == 401
