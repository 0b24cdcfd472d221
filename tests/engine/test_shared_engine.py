"""One engine per user: what wrapped servers share, what they do not, and how it begins and ends."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from assent.gateway.engine import client, wire
from support.clients.transports import ROOT
from support.gateway.wrap_process import home, running
from support.processes.engines import engine_process, has_engine

ODD = str(ROOT / "tests" / "support" / "servers" / "odd_server.py")


async def test_two_wrapped_servers_run_in_one_engine_and_end_with_their_clients(tmp_path: Path) -> None:
    environment = home(tmp_path)
    async with running(environment, sys.executable, ODD) as one, running(environment, sys.executable, ODD) as two:
        await one.greet()
        await two.greet()
        status = await asyncio.to_thread(client.ask, "status", environment=environment, start=False)
        assert status is not None
        assert [server["name"] for server in status["servers"]] == ["odd_server", "odd_server"]
        assert status["version"] == wire.VERSION and status["process"] == engine_process(environment)
        assert (await one.end())[0] == 0
        await two.say("tools/call", 1, name="list_things", arguments={})
        assert (await two.hear())["id"] == 1, "the other server runs on"
        assert (await two.end())[0] == 0


async def test_the_engine_is_not_used_where_the_configuration_switches_it_off(tmp_path: Path) -> None:
    for number, text in enumerate(("engine: off  # one process per server\n", "{engine: 'off'}\n")):
        folder = tmp_path / str(number)
        folder.mkdir()
        environment = home(folder, text)
        async with running(environment, sys.executable, ODD) as one:
            await one.greet()
            assert client.ask("status", environment=environment, start=False) is None or number == 1
            assert (await one.end())[0] == 0
    assert has_engine(environment), "a form that only the engine reads starts one, which then does not wrap"


def test_the_version_that_doors_name_is_the_packages(pytestconfig: pytest.Config) -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == wire.VERSION
