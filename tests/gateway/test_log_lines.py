"""The lines of the gateway's log: when, from where, and in one form only."""

from __future__ import annotations

import json
import logging
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from assent.config.load import user_settings
from assent.core.claims import Settlement, State
from assent.gateway.logging import PlainFormatter
from assent.stores import SqliteStore
from assent.stores.open import sqlite_path
from support.clients.transports import ROOT, over_http
from support.gateway.gateways import Shop, configuration
from support.gateway.wrap_process import ASSENT, home, running
from support.processes.servers import commanded
from support.store_suite.drafts import NOW, claim_draft, entry
from support.stores.earlier_versions import make_store_of_0_2_0

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00"


def test_a_line_of_text_has_its_time_level_and_logger_and_is_one_line() -> None:
    record = logging.makeLogRecord({"name": "assent.x", "levelname": "INFO", "msg": "a\n%s", "args": ("b\rc",)})
    assert re.fullmatch(rf"{TIME} INFO assent\.x: a\\nb\\rc", PlainFormatter().format(record))


def test_every_module_logs_under_its_own_name() -> None:
    shared = [
        str(file)
        for file in (ROOT / "src" / "assent").rglob("*.py")
        if re.search(r"getLogger\(['\"]assent['\"]\)", file.read_text())
    ]
    assert shared == []


async def test_a_log_in_json_holds_nothing_else(tmp_path: Path) -> None:
    async with over_http(Shop().server) as shop:
        file = tmp_path / "assent.yaml"
        refused = {"url": "http://127.0.0.1:9/mcp"}
        file.write_text(configuration(tmp_path, {"shop": {"url": shop}, "gone": refused}, mode="observe"))
        async with commanded("serve", "-c", str(file), "--port", "0", "--log-format", "json") as command:
            await command.said("at http")
            command.process.send_signal(signal.SIGTERM)
            await command.said("Stopped")
            assert command.process.stderr is not None
            command.lines += (await command.process.stderr.read()).decode().splitlines()
    lines = [json.loads(line) for line in command.lines]
    assert all(re.fullmatch(TIME, line["time"]) and line["logger"] for line in lines)


@pytest.mark.parametrize("wrong", ["upstreams: {}", "nonsense: 1\nupstreams: {a: {command: [x]}}"])
def test_a_configuration_that_cannot_be_used_is_a_line_of_json_too(wrong: str, tmp_path: Path) -> None:
    (tmp_path / "assent.yaml").write_text(wrong)
    command = [*ASSENT, "serve", "-c", str(tmp_path / "assent.yaml"), "--port", "0", "--log-format", "json"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    lines = [json.loads(line) for line in ended.stderr.splitlines()]
    assert (ended.returncode, [line["level"] for line in lines]) == (2, ["error"])


def test_an_exception_that_nothing_handles_is_logged_without_its_message() -> None:
    script = (
        "from assent.gateway import logging; logging.begin('json', 'info');"
        " logging.log_uncaught(); raise ValueError('a secret')"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    (line,) = [json.loads(line) for line in ended.stderr.splitlines()]
    assert (ended.returncode, line["level"], line["error"][0]) == (1, "critical", "builtins.ValueError")
    assert "a secret" not in ended.stderr


async def leave_a_doubt(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    store = SqliteStore(path)
    await store.claim(claim_draft("a"), entry(), None, NOW)
    await store.settle("a", 1, Settlement(State.IN_DOUBT, NOW), [])
    await store.close()


async def test_claims_in_doubt_are_mentioned_when_the_gateway_starts(tmp_path: Path) -> None:
    await leave_a_doubt(tmp_path / "doubtful.db")
    async with over_http(Shop().server) as shop:
        file = tmp_path / "assent.yaml"
        file.write_text(configuration(tmp_path, {"shop": {"url": shop}}, store="sqlite:///doubtful.db"))
        async with commanded("serve", "-c", str(file), "--port", "0") as command:
            await command.said("WARNING .*1 claim is in doubt. List them: assent claims list")


async def test_a_migration_is_mentioned_when_the_gateway_starts(tmp_path: Path) -> None:
    make_store_of_0_2_0(tmp_path / "old.db")
    async with over_http(Shop().server) as shop:
        file = tmp_path / "assent.yaml"
        file.write_text(configuration(tmp_path, {"shop": {"url": shop}}, store="sqlite:///old.db"))
        async with commanded("serve", "-c", str(file), "--port", "0") as command:
            await command.said("WARNING .*old.db was migrated from schema 7 to .*earlier versions cannot open it")


async def test_claims_in_doubt_are_mentioned_when_wrap_starts(tmp_path: Path) -> None:
    environment = home(tmp_path)
    settings = user_settings(environment)
    await leave_a_doubt(sqlite_path(settings.store))
    async with running(
        environment, sys.executable, str(ROOT / "tests" / "support" / "servers" / "odd_server.py")
    ) as client:
        await client.greet()
        _, words = await client.end()
    assert "assent wrap: 1 claim is in doubt. List them: assent claims list" in words
