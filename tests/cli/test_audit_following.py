"""The log is followed, verified and searched for secrets while a gateway writes it, and after."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pty
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from mcp.server import MCPServer

from assent.cli import cli
from assent.cli.shared.log_access import LONG
from assent.stores import SqliteStore
from cli.test_beside_gateway import ASSENT, assent, gateway_process
from support.clients.transports import over_http
from support.gateway.gateways import CI, KEY, Shop, configuration, gateway, post, rpc
from support.store_suite.drafts import entry

SECRETS = {"header": "canary-upstream-credential", "result": "canary-one-time-token", "key": CI}


async def interruptible(*command: str, env: dict[str, str] | None = None) -> asyncio.subprocess.Process:
    """A process that SIGINT reaches, also where the tests were started with it ignored, which children inherit."""
    return await asyncio.create_subprocess_exec(
        *command,
        env=env,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


async def test_the_tail_goes_on_as_entries_come_in_until_it_is_stopped(tmp_path: Path) -> None:
    config = tmp_path / "assent.yaml"
    config.write_text("store: sqlite:///assent.db\n")
    store = SqliteStore(tmp_path / "assent.db")
    store.append(entry("first"))
    await store.flush()
    process = await interruptible(*ASSENT, "audit", "tail", "--follow", "-c", str(config))
    assert process.stdout is not None
    async with asyncio.timeout(60):
        assert (await process.stdout.readline()).startswith(b"0\t")
        store.append(entry("second"))
        await store.flush()
        assert (await process.stdout.readline()).startswith(b"1\t")
        process.send_signal(signal.SIGINT)
        _, said = await process.communicate()
    await store.close()
    assert (process.returncode, said.decode().strip()) == (0, "Stopped.")


async def test_an_export_that_was_interrupted_says_where_to_go_on(tmp_path: Path) -> None:
    config, many = tmp_path / "assent.yaml", 2_500
    config.write_text("store: sqlite:///assent.db\n")
    store = SqliteStore(tmp_path / "assent.db")
    for number in range(many):
        store.append(entry(f"{number}", padding="x" * 200))
    await store.close()
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}  # as in many images; then a signal can cut a write short
    process = await interruptible(*ASSENT, "audit", "export", "-c", str(config), env=environment)
    assert process.stdout is not None
    async with asyncio.timeout(60):
        first = await process.stdout.readline()  # the rest of these lines is more than a pipe holds
        process.send_signal(signal.SIGINT)
        rest, said = await process.communicate()
    assert process.returncode == 130
    cursor = said.decode().partition("cursor: ")[2].split()[0]
    more = await assent(config, "audit", "export", "--after", cursor)
    lines = [*(first + rest).decode().splitlines(), *more.splitlines()]
    assert [json.loads(line)["index"] for line in lines if line.startswith("{")] == list(range(many))
    assert len(rest.splitlines()) < many - 1


async def test_an_export_whose_reader_went_away_names_no_cursor_behind_what_was_read(tmp_path: Path) -> None:
    config = tmp_path / "assent.yaml"
    config.write_text("store: sqlite:///assent.db\n")
    store = SqliteStore(tmp_path / "assent.db")
    for number in range(1_200):
        store.append(entry(f"{number}", padding="x" * 200))
    await store.close()
    ours, theirs = os.pipe()
    command = (*ASSENT, "audit", "export", "-c", str(config))
    process = await asyncio.create_subprocess_exec(*command, stdout=theirs, stderr=asyncio.subprocess.PIPE)
    os.close(theirs)
    assert (await asyncio.to_thread(os.read, ours, 100)).startswith(b"{")
    os.close(ours)
    async with asyncio.timeout(60):
        _, said = await process.communicate()
    assert said == b""


async def test_long_work_shows_how_far_it_is_where_somebody_looks(tmp_path: Path) -> None:
    config = tmp_path / "assent.yaml"
    config.write_text("store: sqlite:///assent.db\n")
    store = SqliteStore(tmp_path / "assent.db")
    for _ in range(LONG):
        store.append(entry("one"))
    await store.close()
    said, shown = await watched(config, "verify")
    assert f"{LONG} entries" in said
    assert "Verifying" in shown and "100%" in shown
    assert "Verifying" not in await assent(config, "audit", "verify")
    said, shown = await watched(config, "export", "--kind", "denial")
    assert said == "" and "Exporting" in shown and "100%" in shown


async def watched(config: Path, *words: str) -> tuple[str, str]:
    """What a command prints, and what it shows on the terminal of whoever looks."""
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *ASSENT, "audit", *words, "-c", str(config), stdout=asyncio.subprocess.PIPE, stderr=theirs
    )
    os.close(theirs)
    (said, _), shown = await asyncio.gather(process.communicate(), asyncio.to_thread(read_all, ours))
    return said.decode(), shown


def read_all(terminal: int) -> str:
    """What a terminal shows until nobody writes to it any more, which is an error there."""
    shown = b""
    with suppress(OSError):
        while more := os.read(terminal, 65536):
            shown += more
    os.close(terminal)
    return shown.decode()


async def test_a_log_is_verified_while_the_gateway_writes_it_and_after(tmp_path: Path) -> None:
    shop, config = Shop(), tmp_path / "assent.yaml"
    async with over_http(shop.server) as upstream:
        config.write_text(configuration(tmp_path, {"shop": {"url": upstream}}))
        async with gateway_process(config) as url:
            calls = [post(url, rpc("tools/call", name="list_orders", arguments={})) for _ in range(5)]
            looks = [assent(config, "audit", "verify"), assent(config, "audit", "rotate", "--yes")]
            answers, said = await asyncio.gather(asyncio.gather(*calls), asyncio.gather(*looks))
            assert all(answer.status_code == 200 for answer in answers)
            assert "no problems found" in said[0]
            assert "no problems found" in await assent(config, "audit", "verify")
    last = await assent(config, "audit", "verify")
    assert "no problems found" in last and "not signed yet" not in last


async def test_no_secret_is_in_any_file_log_export_feed_or_anchor(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = MCPServer("links", log_level="ERROR")

    @server.tool()
    def create_link(name: str) -> dict[str, str]:
        """Creates a link."""
        return {"name": name, "token": SECRETS["result"]}

    contract = {"side_effect": "write", "secrets": ["/token"], "activity": "Linked {name}"}
    more = {
        "auth": {"api_keys": [{"name": "ci", "key": CI, "kind": "agent", "scopes": ["*"]}]},
        "contracts": [str(tmp_path / "links.yaml")],
        "audit": {"anchors": [{"directory": str(tmp_path / "elsewhere")}]},
    }
    arguments = {"name": "create_link", "arguments": {"name": "harmless"}, "_meta": {KEY: "one"}}
    async with over_http(server) as upstream:
        upstreams = {"links": {"url": upstream, "headers": {"authorization": f"Bearer {SECRETS['header']}"}}}
        text = configuration(tmp_path, upstreams, **more)
        (tmp_path / "links.yaml").write_text(json.dumps({"tools": {"create_link": contract}}))
        with caplog.at_level(logging.DEBUG):
            async with gateway(tmp_path, upstreams, **more) as (url, _):
                answer = await post(url, rpc("tools/call", **arguments), authorization=f"Bearer {CI}")
                assert SECRETS["result"] in answer.text
                await post(url, rpc("tools/call", **arguments), authorization=f"Bearer {CI}")
                await post(url, rpc("tools/list"), authorization="Bearer canary-wrong-credential")
                while_running = files_in(tmp_path)
    config = tmp_path / "named.yaml"
    config.write_text(text)
    shown = [
        await asyncio.to_thread(CliRunner().invoke, cli, ["audit", *words, "-c", str(config)])
        for words in (["export"], ["export", "--format", "ocsf"], ["tail", "--feed"], ["tail"], ["show", "2"])
    ]
    config.unlink()
    assert "Linked harmless" in shown[2].output
    said = b"".join(
        [*while_running, *files_in(tmp_path), caplog.text.encode(), *(one.output.encode() for one in shown)]
    )
    assert b"harmless" in said
    for secret in (*SECRETS.values(), "canary-wrong-credential"):
        assert secret.encode() not in said


def files_in(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
