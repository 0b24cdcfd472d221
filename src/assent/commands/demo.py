"""`assent demo`: what does a governed server feel like, before anything is configured?"""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
import socket
import sys
from contextlib import AsyncExitStack
from importlib import resources
from pathlib import Path
from typing import Any

import click
import yaml

from assent.core.pins import pins_of, pins_text
from assent.demo.story import Story
from assent.demo.upstream import Office
from assent.edges.http import App
from assent.edges.pages import Pages
from assent.edges.server import bind, make_server
from assent.errors import Fault, SettingsError
from assent.house import House, open_house
from assent.settings import load_settings

UPSTREAM = "office"
_OURS = ("assent.db", "assent.db-wal", "assent.db-shm", "assent.lock", "book.jsonl")


@click.command()
@click.option(
    "--folder", type=click.Path(path_type=Path, file_okay=False), default=Path(".assent-demo"), show_default=True,
    help="Everything the demo writes lies here; it starts afresh each time.",
)  # fmt: skip
@click.option("--port", default=8420, show_default=True, type=click.IntRange(0, 65535))
@click.option("--once", is_flag=True, help="Tell the story and exit.")
def demo(folder: Path, port: int, once: bool) -> None:
    """A demo upstream and the gateway in front of it, ready to try. Ctrl-C stops."""
    asyncio.run(run(folder, port, once))


async def run(folder: Path, port: int, once: bool) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    playing = asyncio.ensure_future(_play(folder, port, once, stop))
    stopped = asyncio.ensure_future(stop.wait())
    await asyncio.wait({playing, stopped}, return_when=asyncio.FIRST_COMPLETED)
    playing.cancel()
    stopped.cancel()
    ended = (await asyncio.gather(playing, stopped, return_exceptions=True))[0]
    if isinstance(ended, Exception):
        raise ended
    click.echo("Stopped.", err=True)


async def _play(folder: Path, port: int, once: bool, stop: asyncio.Event) -> None:
    _clear(folder)
    office = Office(folder / "book.jsonl")
    async with AsyncExitStack() as stack:
        upstream = await _serve(stack, office.server.streamable_http_app(), _listener(0))
        listener = _listener(port)
        gateway = f"http://127.0.0.1:{listener.getsockname()[1]}"
        file = _write(folder, upstream, gateway)
        house = await open_house(load_settings(file))
        stack.push_async_callback(house.stop)
        await house.start()
        await _accept(house, folder)
        url = await _serve(stack, house.app(Pages(house)), listener)
        click.echo(f"A demo office at {upstream}, and the gateway in front of it at {url}. Its files: {folder}/")
        story = Story(url, office, lambda: house.reload(UPSTREAM), click.echo)
        await story.tell()
        click.echo(_next_steps(url, file, story.pending))
        if not once:
            click.echo("\nServing until Ctrl-C.")
            await stop.wait()


def _clear(folder: Path) -> None:
    """Start afresh, touching nothing that is not the demo's own."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in _OURS:
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise SettingsError(Fault(f"{folder} cannot be used: {error.strerror}", "Choose another --folder")) from None


def _listener(port: int) -> socket.socket:
    """The port if it is free, otherwise any that is."""
    try:
        return bind("127.0.0.1", port)
    except OSError:
        click.echo(f"Port {port} is taken; another one is used.", err=True)
        return bind("127.0.0.1", 0)


async def _serve(stack: AsyncExitStack, app: App, listener: socket.socket) -> str:
    server = make_server(app, drain=1, lifespan="auto")
    serving = asyncio.ensure_future(server._serve(sockets=[listener]))

    async def end() -> None:
        server.should_exit = True
        await serving

    stack.push_async_callback(end)
    while not server.started and not serving.done():  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    return f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"


def _write(folder: Path, upstream: str, gateway: str) -> Path:
    contracts = resources.files("assent.demo").joinpath("contracts.yaml").read_text(encoding="utf-8")
    (folder / "contracts.yaml").write_text(contracts, encoding="utf-8")
    settings = {
        "store": "sqlite:///assent.db",
        "public_url": gateway,
        "mode": "enforce",
        "upstreams": {UPSTREAM: {"url": upstream}},
        "contracts": ["contracts.yaml"],
        "pins": "assent.lock",
        "secrets": {"directory": "keys"},
        "auth": {"anonymous": {"kind": "agent", "scopes": ["*"]}},
    }
    file = folder / "assent.yaml"
    file.write_text("# Written by `assent demo`.\n" + yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    return file


async def _accept(house: House, folder: Path) -> None:
    """What `assent pin --write` does: a person accepts the definitions as they are now."""
    definitions: list[dict[str, Any]] = await house.links[UPSTREAM].load()
    (folder / "assent.lock").write_text(pins_text({UPSTREAM: pins_of(definitions)}), encoding="utf-8")


def _next_steps(url: str, file: Path, approval: str) -> str:
    assent, where = _command(), shlex.quote(str(file))
    call = {"name": "delete_files", "arguments": {"folder": "drafts"}}
    snippet = {
        "mcpServers": {
            "demo": {"command": _command(), "args": ["wrap", "--", sys.executable, "-m", "assent.demo.upstream"]}
        }
    }
    return "\n".join(
        [
            "\nNext, from another terminal in this folder:",
            "\n1. Give the approval that the agent waits for, and make its call again:",
            f"   {assent} approvals approve {approval} --yes -c {where}",
            f"   {_curl(url, 'tools/call', call)}",
            "\n2. See every tool with its hints and its contract:",
            f"   {_curl(url, 'tools/list')}",
            f"   npx -y @modelcontextprotocol/inspector --cli {url} --transport http --method tools/list",
            "\n3. See what changed in the tool that is withheld, and accept it:",
            f"   {assent} pin --check -c {where}",
            f"   {assent} pin --write -c {where}",
            "\n4. The same office in a desktop client's configuration, governed without a gateway:",
            f"   {json.dumps(snippet)}",
        ]
    )


def _command() -> str:
    beside = Path(sys.executable).with_name("assent")
    return shlex.quote(str(beside if beside.exists() else Path(sys.argv[0])))


def _curl(url: str, method: str, params: dict[str, Any] | None = None) -> str:
    message = {"jsonrpc": "2.0", "id": 1, "method": method} | ({"params": params} if params else {})
    headers = "-H 'content-type: application/json' -H 'accept: application/json, text/event-stream'"
    return f"curl -s {url} {headers} -d {shlex.quote(json.dumps(message))}"
