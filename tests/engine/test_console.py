"""`assent console` for wrapped servers: the same pages, served by the engine."""

from __future__ import annotations

import asyncio
import re
import sys
import urllib.parse
from pathlib import Path

from support.clients.transports import ROOT
from support.console.plain_browser import browser, hidden_field
from support.gateway.wrap_process import ASSENT, home, running

ODD = str(ROOT / "tests" / "support" / "servers" / "odd_server.py")


async def run(environment: dict[str, str], *words: str, cwd: Path) -> tuple[int, str, str]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*ASSENT, *words, stdout=pipe, stderr=pipe, env=environment, cwd=cwd)
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_a_call_that_waits_is_shown_and_decided_in_the_console_of_wrapped_servers(tmp_path: Path) -> None:
    environment = home(tmp_path, "mode: enforce\n")
    environment.pop("DISPLAY", None)
    async with running(environment, sys.executable, ODD) as client:
        await client.greet()
        await client.say("tools/call", 1, name="delete_thing", arguments={})
        waiting = (await client.hear())["result"]["structuredContent"]
        assert waiting["code"] == "confirm.approval_pending"
        code, link, said = await run(environment, "console", cwd=tmp_path)
        assert code == 0, said
        address, token = link[: link.index("/console/")], link.strip().partition("link=")[2]
        assert urllib.parse.urlsplit(address).hostname == "127.0.0.1"
        async with browser(address) as person, browser(address) as stranger:
            assert (await stranger.get("/console/approvals")).status_code != 200
            assert (await person.post("/console/signin/link", {"link": token})).status_code == 303
            assert (await stranger.post("/console/signin/link", {"link": token})).status_code != 303, "used once"
            assert "delete_thing" in (await person.get("/console/approvals")).text
            assert "list_things" in (await person.get("/console/tools")).text
            approval = f"/console/approvals/{waiting['approval']}"
            form = {"csrf": hidden_field((await person.get(approval)).text, "csrf")}
            assert (await person.post(f"{approval}/approve", form)).status_code == 303
        await client.say("tools/call", 2, name="delete_thing", arguments={})
        assert (await client.hear())["result"]["content"][0]["text"].endswith(" 1")
        _, said = await client.end()
    assert "delete_thing waits for you: assent approvals show" in said


async def test_an_engine_whose_clients_have_gone_says_so(tmp_path: Path) -> None:
    environment = home(tmp_path)
    async with running(environment, sys.executable, ODD) as client:
        await client.greet()
        await client.end()
    _, shown, _ = await run(environment, "engine", "status", cwd=tmp_path)
    assert re.search(r"[1-9]\d* MB\): no client uses a wrapped server now\n", shown), shown
    assert (await run(environment, "engine", "stop", cwd=tmp_path))[2] == "The engine ends.\n"


async def test_the_command_shows_and_ends_the_engine(tmp_path: Path) -> None:
    environment = home(tmp_path)
    assert (await run(environment, "engine", "status", cwd=tmp_path))[0] == 1
    async with running(environment, sys.executable, ODD) as client:
        await client.greet()
        code, shown, _ = await run(environment, "engine", "status", cwd=tmp_path)
        assert (code, "odd_server" in shown) == (0, True), shown
        assert re.search(r"\d MB\): 1 wrapped server; `assent wrap` takes [1-9]\d* MB more\n", shown), shown
        code, _, said = await run(environment, "engine", "stop", cwd=tmp_path)
        assert code == 0 and "1 server" in said
        assert await client.hear() == {}, "the client sees that its server has ended"
        code, said = await client.end()
    assert "odd_server was closed: `assent engine stop` ended it" in said
    assert (await run(environment, "engine", "stop", cwd=tmp_path))[0] == 0
