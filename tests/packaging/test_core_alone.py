"""`pip install assent` without extras: calls are governed, and a missing feature names the line that installs it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from assent.cli import COMMANDS
from support.suite.core_environment import PROJECT, clean_environment, core_environment

STANDARD = "pip install 'assent[standard]'"
SERVER = """
import sys
from mcp.server import MCPServer

server = MCPServer("notes")


@server.tool()
def list_notes() -> list[str]:
    '''Lists notes.'''
    return ["buy milk"]


server.run(transport=sys.argv[1], **({"port": int(sys.argv[2])} if sys.argv[2:] else {}))
"""
LIBRARY = """
import asyncio
from mcp import Client
from mcp.server import MCPServer
from assent import Assent, contract

assent = Assent(store="sqlite:///shop.db")
server = MCPServer("shop", extensions=[assent.extension()])


@server.tool()
@contract(side_effect="read")
def list_orders() -> list[str]:
    '''Lists orders.'''
    return ["o-1"]


assent.apply(server)


async def main() -> None:
    async with Client(server) as client:
        print((await client.call_tool("list_orders", {})).structured_content)


asyncio.run(main())
"""


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return core_environment(tmp_path_factory.mktemp("core") / "environment")


def run(commands: Path, folder: Path, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    environment = clean_environment(folder)
    command = [str(commands / words[0]), *words[1:]]
    return subprocess.run(
        command, cwd=folder, env=environment, input=given, capture_output=True, text=True, timeout=120
    )


def configuration(folder: Path, **more: object) -> Path:
    (folder / "server.py").write_text(SERVER)
    python = str(more.pop("python"))
    settings: dict[str, object] = {
        "store": "sqlite:///assent.db",
        "upstreams": {"notes": {"command": [python, "server.py", "stdio"]}},
        "auth": {"anonymous": {"kind": "agent", "scopes": ["*"]}},
    }
    file = folder / "assent.yaml"
    file.write_text(json.dumps({**settings, **more}))
    return file


def test_the_core_has_about_a_dozen_dependencies_and_every_other_one_is_an_extra() -> None:
    assert len(PROJECT["dependencies"]) <= 14
    assert {"starlette", "Jinja2", "cedarpy", "sqlglot"} <= {
        one.partition(">")[0] for one in PROJECT["optional-dependencies"]["standard"]
    }


def test_a_server_with_contracts_runs(commands: Path, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(LIBRARY)
    done = run(commands, tmp_path, "python", "shop.py")
    assert done.stdout == "{'result': ['o-1']}\n", done.stderr


def test_every_command_shows_its_help(commands: Path, tmp_path: Path) -> None:
    code = (
        "from click.testing import CliRunner; from assent.cli import COMMANDS, cli\n"
        "for name in COMMANDS: assert CliRunner().invoke(cli, [name, '--help']).exit_code == 0, name\n"
        "print(len(COMMANDS))"
    )
    assert run(commands, tmp_path, "python", "-c", code).stdout == f"{len(COMMANDS)}\n"


def test_wrap_governs_a_server_on_standard_streams(commands: Path, tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "list_notes", "arguments": {}}},
    ]
    answers = asyncio.run(_talk(commands, tmp_path, messages))
    assert answers[2]["result"]["structuredContent"] == {"result": ["buy milk"]}


async def _talk(commands: Path, folder: Path, messages: list[dict[str, object]]) -> dict[int, dict[str, object]]:
    """The answers to messages, by their id; the next message is sent after the answer to the last."""
    process = await asyncio.create_subprocess_exec(
        str(commands / "assent"), "wrap", "--", str(commands / "python"), "server.py", "stdio",
        cwd=folder, env=clean_environment(folder), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    answers: dict[int, dict[str, object]] = {}
    try:
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            while "id" in message and message["id"] not in answers:
                line = await asyncio.wait_for(process.stdout.readline(), 60)
                assert line, "it ended without an answer"
                said = json.loads(line)
                answers.update({said["id"]: said} if "id" in said else {})
    finally:
        process.stdin.close()
        await asyncio.wait_for(process.wait(), 30)
    return answers


def test_serve_governs_an_upstream_and_its_console_says_how_to_install_it(commands: Path, tmp_path: Path) -> None:
    file = configuration(tmp_path, python=commands / "python")
    process = subprocess.Popen(
        [str(commands / "assent"), "serve", "-c", str(file), "--port", "0", "--log-format", "json"],
        cwd=tmp_path, env=clean_environment(tmp_path), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        url = next(text for line in lines if (text := _address(line)))
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_notes", "arguments": {}}}
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        headers |= {"mcp-protocol-version": "2025-06-18"}
        request = urllib.request.Request(f"{url}/mcp", json.dumps(call).encode(), headers)
        assert b"buy milk" in urllib.request.urlopen(request, timeout=60).read()
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{url}/console/signin", timeout=60)
        assert refused.value.code == 501
        assert STANDARD in refused.value.read().decode()
    finally:
        process.terminate()
        process.communicate(timeout=30)


def _address(line: str) -> str:
    found = line.partition("http://127.0.0.1:")[2]
    port = "".join(character for character in found[:5] if character.isdigit())
    return f"http://127.0.0.1:{port}" if port and "/mcp" in line else ""


@pytest.mark.parametrize(
    ("setting", "package"),
    [
        ({"guards": [{"rule": "sql_read_only", "dialect": "postgres"}]}, "sqlglot"),
        ({"policies": ["policy.cedar"]}, "cedarpy"),
        ({"store": "postgresql://user@127.0.0.1/assent"}, "asyncpg"),
    ],
)
def test_a_setting_that_needs_an_extra_is_refused_at_the_start(
    commands: Path, tmp_path: Path, setting: dict[str, object], package: str
) -> None:
    (tmp_path / "policy.cedar").write_text("permit(principal, action, resource);")
    file = configuration(tmp_path, python=commands / "python", **setting)
    done = run(commands, tmp_path, "assent", "serve", "-c", str(file), "--check")
    assert done.returncode == 2
    extra = "postgres" if package == "asyncpg" else "standard"
    assert (
        f"needs the package {package}, which is not installed. Install it: pip install 'assent[{extra}]'" in done.stderr
    )
    assert "Traceback" not in done.stderr


def test_a_command_that_needs_an_extra_says_so(commands: Path, tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    server = (str(commands / "python"), "server.py", "stdio")
    done = run(commands, tmp_path, "assent", "add", "notes", "-c", "assent.yaml", "--", *server)
    assert done.returncode == 2
    assert STANDARD in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "assent.yaml").exists()
