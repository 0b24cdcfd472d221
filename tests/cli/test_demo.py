"""`assent demo` as a new user tries it: every printed line is tried."""

from __future__ import annotations

import asyncio
import fcntl
import itertools
import json
import os
import re
import shlex
import signal
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters

from assent.upstreams.sandbox.support import findings
from support.clients.transports import ERAS
from support.conformance.programs import MISSING, inspect
from support.console.plain_browser import hidden_field
from support.decisions.problems import problem

WAITS = "confirm.approval_pending"
CONFINED = not any(one.missing for one in findings())
ASSENT = [sys.executable, "-c", "from assent.cli import main; main()"]


def newcomer(folder: Path) -> dict[str, str]:
    """The environment of a user who has never used Assent: whatever it writes into their home is seen."""
    return {name: value for name, value in os.environ.items() if not name.startswith("XDG_")} | {"HOME": str(folder)}


@asynccontextmanager
async def demo(folder: Path, *arguments: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, list[str]]]:
    """The demo in a folder of its own, and the lines it has printed until it serves."""
    process = await asyncio.create_subprocess_exec(
        *ASSENT, "demo", "--port", "0", *arguments, cwd=folder, stdout=asyncio.subprocess.PIPE, env=newcomer(folder)
    )
    lines: list[str] = []
    try:
        assert process.stdout is not None
        while line := (await process.stdout.readline()).decode():
            lines.append(line.rstrip("\n"))
            if line.startswith("Serving until"):
                break
        yield process, lines
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        process._transport.close()  # type: ignore[attr-defined]


def printed(lines: list[str], *words: str) -> list[str]:
    """The one printed command that has these words in it."""
    (found,) = [line for line in lines if all(word in line for word in words)]
    return shlex.split(found)


async def run(command: list[str], folder: Path) -> tuple[int, str]:
    """The exit code of a printed command, and what it says."""
    assert Path(command[0]).name == "assent"
    process = await asyncio.create_subprocess_exec(
        *ASSENT, *command[1:], cwd=folder, stdout=asyncio.subprocess.PIPE, env=newcomer(folder)
    )
    said, _ = await process.communicate()
    process._transport.close()  # type: ignore[attr-defined]
    return process.returncode or 0, said.decode()


async def curl(command: list[str]) -> Any:
    """What a printed `curl` line gets."""
    headers = dict(value.split(": ") for flag, value in itertools.pairwise(command) if flag == "-H")
    async with httpx2.AsyncClient(timeout=60) as client:
        answer = await client.post(command[2], content=command[-1].encode(), headers=headers)
    return answer.json()["result"]


async def inbox_of(link: str) -> str:
    """The pages of the approvals in the inbox of whoever a link signs in."""
    address = link.partition("/console/")[0]
    async with httpx2.AsyncClient(base_url=address, timeout=60, follow_redirects=True) as client:
        form = {"link": hidden_field((await client.get(link)).text, "link")}
        inbox = await client.post("/console/signin/link", data=form, headers={"origin": address})
        assert inbox.url.path == "/console/approvals"
        found = set(re.findall(r'href="(/console/approvals/\w{32})"', inbox.text))
        assert len(found) == 3, "the order, the deletion and the command wait"
        return "".join([(await client.get(page)).text for page in found])


async def listed(command: list[str]) -> list[str]:
    return [tool["name"] for tool in (await curl(command))["tools"]]


async def test_the_story_is_told_and_every_printed_line_is_true(tmp_path: Path) -> None:
    async with demo(tmp_path) as (process, lines):
        text = "\n".join(lines)
        commands = [line for line in lines if line.startswith("   ") and (" -c " in line or "curl" in line)]
        assert len(commands) == 10, "each of them is tried below"
        assert text.count("Without Assent: ") == 6 + CONFINED, "each step says what Assent spared"
        listing = printed(lines, "curl", "tools/list")
        assert len(await listed(listing)) == 9 + CONFINED
        if not MISSING:
            line = printed(lines, "inspector")
            seen = await asyncio.to_thread(inspect, line[line.index("--cli") + 1], *line[line.index("--method") :])
            assert [tool["name"] for tool in seen["tools"]] == await listed(listing)
        code, said = await run(printed(lines, "pin --check"), tmp_path)
        assert (code, "changed track_parcel" in said) == (1, True)
        assert "attack  track_parcel" in said and "!! this looks like an attack: it gives the model orders" in text
        assert (await run(printed(lines, "pin --write"), tmp_path))[0] == 2, "without a terminal nothing is accepted"
        assert (await run([*printed(lines, "pin --write"), "--yes"], tmp_path))[0] == 0
        async with asyncio.timeout(20):
            while "track_parcel" not in await listed(listing):
                pass
        assert problem(await curl(printed(lines, "curl", "delete_files")))["code"] == WAITS
        assert "drafts/old-offer.txt" in (await run(printed(lines, "approvals show"), tmp_path))[1]
        links = [line.strip() for line in lines if "/console/signin?link=" in line]
        links.append((await run(printed(lines, "console -c"), tmp_path))[1].strip())
        for link in links:
            pages = await inbox_of(link)
            assert all(said in pages for said in ("Deleted the files of", "claude-code.Bash", "Place order")), pages
        approve, listing_of_calls = (
            printed(lines, "approvals approve"),
            ["assent", "approvals", "list", "--format", "json"],
        )
        waiting_calls = json.loads((await run([*listing_of_calls, *approve[-2:]], tmp_path))[1])
        assert {one["tool"] for one in waiting_calls} == {"place_order", "delete_files", "claude-code.Bash"}
        (waiting,) = [one for one in waiting_calls if one["id"].startswith(approve[3])]
        assert (await run(approve, tmp_path))[0] == 2, "without a terminal nothing is approved"
        assert (await run([*approve[:3], waiting["id"], "--yes", *approve[4:]], tmp_path))[0] == 0
        assert process.stdout is not None
        assert b"You approved it: exactly this call may now run, once." in await process.stdout.readline()
        assert (await curl(printed(lines, "curl", "delete_files")))["structuredContent"] == {"deleted": 3}
        assert "Deleted the files of drafts" in (await run(printed(lines, "audit tail"), tmp_path))[1]
        assert (await run(printed(lines, "audit anchor"), tmp_path))[0] == 0
        code, said = await run(printed(lines, "audit verify"), tmp_path)
        assert (code, "no problems found" in said, "not signed" in said) == (0, True, False)
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 0
    for said in ("Price: 480", "rehearse.dry_run_required", WAITS, "replayed: true", "book: 1.", "deny. Bash meets"):
        assert said in text
    assert ("The kernel stops the write (execute.confined)" in text) is CONFINED
    book = (tmp_path / ".assent-demo" / "book.jsonl").read_text()
    assert "charged" not in book, "the client's own yes bought nothing"
    assert "The tool is withheld until a person accepts the new text" in text
    assert "\x1b[" not in text, "a pipe gets no colours"
    assert [path.name for path in tmp_path.iterdir()] == [".assent-demo"], "nothing outside its folder"


async def test_the_entry_for_a_desktop_client_governs_an_office_under_the_same_contracts(tmp_path: Path) -> None:
    async with demo(tmp_path, "--once") as (_, lines):
        pass
    (file,) = [line.rpartition(" ")[2] for line in lines if "the entry for a desktop client" in line]
    entry = json.loads((tmp_path / file).read_text())["mcpServers"]["demo"]
    assert Path(entry["command"]).is_absolute()
    elsewhere = StdioServerParameters(
        command=ASSENT[0], args=[*ASSENT[1:], *entry["args"]], env=newcomer(tmp_path), cwd="/"
    )
    for era in ERAS:
        async with Client(elsewhere, mode=era) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            refused = await client.call_tool("delete_files", {"folder": "drafts"})
        assert ("track_parcel" in names, "read_card_numbers" in names) == (True, False)
        assert problem(refused)["code"] == "rehearse.dry_run_required"
    assert [path.name for path in tmp_path.iterdir()] == [".assent-demo"], "nothing outside its folder"


async def test_a_machine_without_a_sandbox_says_so_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    process = await asyncio.create_subprocess_exec(
        *ASSENT, "demo", "--port", "0", "--once", "--folder", "demo", cwd=tmp_path, stdout=asyncio.subprocess.PIPE,
        env=newcomer(tmp_path) | {"PATH": str(tmp_path / "empty")},
    )  # fmt: skip
    told, _ = await process.communicate()
    process._transport.close()  # type: ignore[attr-defined]
    assert process.returncode == 0
    assert b"This machine cannot show it (bubblewrap: " in told and b"Your turn." in told


async def test_it_starts_afresh_each_time_and_ends_by_itself_when_told_once(tmp_path: Path) -> None:
    for _ in range(2):
        async with demo(tmp_path, "--once") as (process, lines):
            assert await process.wait() == 0
        assert "Refused (rehearse.dry_run_required)" in "\n".join(lines)
        code, said = await run(printed(lines, "audit verify"), tmp_path)
        assert (code, "no problems found" in said) == (0, True)


async def test_closing_the_terminal_ends_it(tmp_path: Path) -> None:
    async with demo(tmp_path) as (process, _):
        process.send_signal(signal.SIGHUP)
        assert await asyncio.wait_for(process.wait(), 60) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_while_the_story_is_told_stops_it_cleanly(number: int, tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *ASSENT, "demo", "--port", "0", cwd=tmp_path, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    await process.stdout.readline()
    process.send_signal(number)
    _, said = await process.communicate()
    assert (process.returncode, "Traceback" in said.decode()) == (0, False)
    process._transport.close()  # type: ignore[attr-defined]


async def test_a_second_demo_in_the_same_folder_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    async with demo(tmp_path) as (process, lines):
        second = await asyncio.create_subprocess_exec(
            *ASSENT, "demo", "--port", "0", cwd=tmp_path, stderr=asyncio.subprocess.PIPE
        )
        _, said = await second.communicate()
        second._transport.close()  # type: ignore[attr-defined]
        assert await listed(printed(lines, "curl", "tools/list"))
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 0
    assert second.returncode == 2
    assert "a demo already runs in .assent-demo. Stop it with Ctrl-C" in said.decode()


async def test_a_folder_with_somebodys_own_files_is_left_alone(tmp_path: Path) -> None:
    for name in ("assent.yaml", "assent.db", "assent.lock"):
        (tmp_path / name).write_text("mine")
    async with demo(tmp_path, "--folder", ".") as (process, lines):
        assert (await process.wait(), lines) == (2, [])
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(
        ("assent.yaml", "assent.db", "assent.lock"), "mine"
    )


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("plain", [False, True])
async def test_a_terminal_gets_colours_unless_it_asks_for_none_and_lines_that_fit(
    columns: int, plain: bool, tmp_path: Path
) -> None:
    environment = newcomer(tmp_path) | ({"NO_COLOR": "1"} if plain else {}) | {"TERM": "xterm"}
    text = await asyncio.to_thread(at_terminal, columns, environment, tmp_path, "demo", "--port", "0", "--once")
    story = text.partition("Your turn")[0]
    assert ("\x1b[" in text) is not plain
    shown = re.sub(r"\x1b\[[0-9;]*m", "", story).splitlines()
    assert [line for line in shown if len(line) > columns] == []
    assert "Without Assent: " in story and "!! this looks like an attack" in story


def at_terminal(columns: int, environment: dict[str, str], folder: Path, *words: str) -> str:
    """What a command prints on a terminal of this width."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: value for name, value in environment.items() if name not in ("COLUMNS", "LINES")}
    with subprocess.Popen([*ASSENT, *words], stdin=theirs, stdout=theirs, cwd=folder, env=environment) as process:
        os.close(theirs)
        said = b""
        with suppress(OSError):  # The end of a terminal is an error of reading.
            while part := os.read(ours, 65536):
                said += part
        os.close(ours)
    assert process.returncode == 0
    return said.decode().replace("\r\n", "\n")


async def test_a_port_in_use_is_named_and_another_one_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        process = await asyncio.create_subprocess_exec(
            *ASSENT, "demo", "--port", port, "--once", cwd=tmp_path, env=newcomer(tmp_path),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        told, said = await process.communicate()
        process._transport.close()  # type: ignore[attr-defined]
    other = re.search(rf"Port {port} is in use; the demo uses (\d+)\. Choose one with --port", said.decode())
    assert process.returncode == 0 and other is not None
    assert f"http://127.0.0.1:{other[1]}/console/signin?link=" in told.decode()
