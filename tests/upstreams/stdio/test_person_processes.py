"""Stdio servers with a key of each person: one process per person, bounded, stopped when idle or revoked."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from assent.config.load import parse_settings
from assent.contract.yaml_document import write_yaml
from assent.errors import FaultsError
from assent.gateway.app import GatewayApp
from assent.upstreams.credentials import PersonOwner
from assent.upstreams.stdio.person_processes import PerUserStdioLink
from support.console.plain_browser import signed_in
from support.decisions.problems import problem
from support.gateway.gateways import gateway
from upstreams.oauth.test_gateway import PEOPLE, read

SERVER = Path(__file__).parents[2] / "support" / "servers" / "keyed_server.py"
READS = {"tools": {name: {"side_effect": "read"} for name in ("read_note", "hang_note")}}


def settings(folder: Path, **more: Any) -> dict[str, Any]:
    (folder / "notes.yaml").write_text(write_yaml(READS))
    command = [sys.executable, "-I", "-S", str(SERVER), str(folder / "calls.log")]
    own = {"command": command, "auth": "key", "identity": "per_user", "key_env": "NOTES_KEY", "timeout": "60s", **more}
    names = ("ann", "ben", *PEOPLE)
    keys = [{"name": name, "key": f"key-of-{name}", "kind": "agent", "scopes": ["*"]} for name in names]
    return {"upstreams": {"notes": own}, "auth": {"api_keys": keys}, "contracts": [str(folder / "notes.yaml")]}


async def keep_key(app: GatewayApp, name: str, key: str = "") -> None:
    await app.runtime.vault.put("notes", PersonOwner("local", name), {"key": key or f"secret-of-{name}"})


def calls(folder: Path) -> list[tuple[str, str, str]]:
    """The servers' own log: process, key, argument."""
    lines = (folder / "calls.log").read_text().splitlines()
    return [(pid, key, note) for pid, key, note in (line.split(" ", 2) for line in lines)]


def link_of(app: GatewayApp) -> PerUserStdioLink:
    link = app.current.links["notes"]
    assert isinstance(link, PerUserStdioLink)
    return link


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 (a process has no event for it)
            await asyncio.sleep(0.01)


def is_running(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_hundred_people_race_and_nobodys_process_serves_another(tmp_path: Path) -> None:
    most = 0
    async with gateway(tmp_path, **settings(tmp_path, processes=30)) as (url, app):
        for name in PEOPLE:
            await keep_key(app, name)
        async with httpx2.AsyncClient(limits=httpx2.Limits(max_connections=100)) as http:

            async def call(name: str) -> str:
                nonlocal most
                answer = await read(http, url, name, f"note-of-{name}")
                most = max(most, len(link_of(app).processes))
                return str(answer["content"][0]["text"])

            texts = await asyncio.gather(*(call(name) for name in [*PEOPLE, *reversed(PEOPLE)]))
    assert texts == [f"note-of-{name} with secret-of-{name}" for name in [*PEOPLE, *reversed(PEOPLE)]]
    log = calls(tmp_path)
    assert len(log) == 200
    assert [one for one in log if one[1].removeprefix("secret-of-") != one[2].removeprefix("note-of-")] == []
    keys = defaultdict(set)
    for pid, key, _ in log:
        keys[pid].add(key)
    assert most <= 30
    assert not [pid for pid in keys if is_running(pid)], "every process ended with the gateway"


async def test_a_person_without_a_key_is_told_where_to_enter_it(tmp_path: Path) -> None:
    async with gateway(tmp_path, **settings(tmp_path)) as (url, app), httpx2.AsyncClient() as http:
        refused = problem(await read(http, url, "ann", "plan"))
        assert refused["code"] == "guard.not_connected"
        async with signed_in(url, app.store, id="ann", roles=frozenset({"viewer"})) as person:
            where = refused["connect_url"]
            page = await person.get(where[where.index("/console") :])
            assert "Your API key for notes" in page.text
            await person.send("/console/connections/notes/key", {"key": "first"})
            assert (await read(http, url, "ann", "plan"))["content"][0]["text"] == "plan with first"
            await person.send("/console/connections/notes/disconnect", {})
            await person.send("/console/connections/notes/key", {"key": "second"})
            assert (await read(http, url, "ann", "plan"))["content"][0]["text"] == "plan with second"
            await person.send("/console/connections/notes/disconnect", {})
            assert problem(await read(http, url, "ann", "plan"))["code"] == "guard.not_connected"
        assert problem(await read(http, url, "ben", "plan"))["code"] == "guard.not_connected"
        pids = {pid for pid, _, _ in calls(tmp_path)}
        await until(lambda: not any(map(is_running, pids)))
        assert len(pids) == 2


async def test_a_key_changed_by_another_replica_is_used_at_the_next_call(tmp_path: Path) -> None:
    async with gateway(tmp_path, **settings(tmp_path)) as (url, app), httpx2.AsyncClient() as http:
        await keep_key(app, "ann", "first")
        await read(http, url, "ann", "plan")
        await keep_key(app, "ann", "second")  # straight into the store, as another replica does
        assert (await read(http, url, "ann", "plan"))["content"][0]["text"] == "plan with second"
        await app.runtime.vault.remove("notes", PersonOwner("local", "ann"))
        assert problem(await read(http, url, "ann", "plan"))["code"] == "guard.not_connected"
        await until(lambda: len(link_of(app).processes) == 0)


async def test_an_unused_process_is_stopped_and_started_again(tmp_path: Path) -> None:
    async with gateway(tmp_path, **settings(tmp_path, idle="1s")) as (url, app), httpx2.AsyncClient() as http:
        await keep_key(app, "ann")
        await read(http, url, "ann", "one")
        await until(lambda: len(link_of(app).processes) == 0)
        first = calls(tmp_path)[0][0]
        assert not is_running(first)
        await read(http, url, "ann", "two")
        assert calls(tmp_path)[1][0] != first


async def test_a_revoked_key_lets_a_running_call_finish_and_takes_no_new_one(tmp_path: Path) -> None:
    async with gateway(tmp_path, **settings(tmp_path)) as (url, app), httpx2.AsyncClient() as http:
        await keep_key(app, "ann")
        hanging = asyncio.ensure_future(read(http, url, "ann", "slow", "hang_note"))
        await until(lambda: len(calls(tmp_path)) == 1)
        process = next(iter(link_of(app).processes._running.values()))
        await app.runtime.vault.remove("notes", PersonOwner("local", "ann"))
        app.state.forget_credential("notes", PersonOwner("local", "ann"))
        assert problem(await read(http, url, "ann", "plan"))["code"] == "guard.not_connected"
        released = await process.link.upstream.request(
            "tools/call", {"name": "read_note", "arguments": {"name": "x"}}, {}
        )
        assert released["content"][0]["text"] == "x with secret-of-ann"
        assert (await hanging)["content"][0]["text"] == "x with secret-of-ann"
        await until(lambda: len(link_of(app).processes) == 0)


async def test_when_every_process_is_busy_the_call_is_refused_and_nothing_ran(tmp_path: Path) -> None:
    async with gateway(tmp_path, **settings(tmp_path, processes=1)) as (url, app), httpx2.AsyncClient() as http:
        await keep_key(app, "ann")
        await keep_key(app, "ben")
        processes = link_of(app).processes
        async with processes.using(PersonOwner("local", "ann")):
            processes._patience = 0.1
            assert problem(await read(http, url, "ben", "plan"))["code"] == "execute.unavailable"
            processes._patience = 60.0
            waiting = asyncio.ensure_future(read(http, url, "ben", "later"))
        assert (await waiting)["content"][0]["text"] == "later with secret-of-ben"
    assert [one[1:] for one in calls(tmp_path)] == [("secret-of-ben", "later")]


async def test_the_key_is_in_no_log_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with gateway(tmp_path, **settings(tmp_path)) as (url, app), httpx2.AsyncClient() as http:
        await keep_key(app, "ann")
        await read(http, url, "ann", "plan")
        await until(lambda: "the key is [key]" in caplog.text)
    assert "secret-of-ann" not in caplog.text


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"auth": "key", "identity": "per_user"}, "key_env"),
        ({"auth": "key", "key_env": "KEY"}, "per_user"),
        ({"auth": "oauth", "identity": "per_user", "key_env": "KEY"}, "auth: key"),
        ({"auth": "key", "identity": "per_user", "key_env": "A-B"}, "key_env"),
    ],
)
def test_settings_that_cannot_work_are_said_at_load(own: dict[str, Any], message: str) -> None:
    with pytest.raises(FaultsError, match=message):
        parse_settings(write_yaml({"upstreams": {"notes": {"command": ["notes"], **own}}}))
