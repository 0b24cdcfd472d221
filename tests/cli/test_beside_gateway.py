"""The command line and a running gateway share one SQLite file, each in a process of its own."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from support.gateways import Shop, configuration, post, rpc
from support.problems import problem
from support.transports import over_http

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


async def assent(config: Path, *words: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *ASSENT, *words, "-c", str(config), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode().strip()


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
