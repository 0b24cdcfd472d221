"""The process of `assent demo`: a demo server, the gateway in front of it, and the scripted calls."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import signal
import socket
import sys
import time
import webbrowser
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import click

from assent.cli.init import assent_command
from assent.cli.serve_process import following
from assent.cli.shared.options import console_person
from assent.config.load import load_settings, user_file
from assent.config.model import LOCK
from assent.config.trust import trust_written
from assent.contract.yaml_document import write_yaml
from assent.core.approval import ApprovalState
from assent.core.pins import pins_of, pins_text
from assent.errors import Fault, SettingsError
from assent.gateway.app import GatewayApp, open_gateway
from assent.gateway.reload import signature, watched_files
from assent.gateway.status_pages import StatusPages
from assent.people.console.start import console_in_front, keep_address, sign_in_url, store_mark
from assent.ports import Store
from assent.upstreams.sandbox.support import findings
from assent.web.asgi import App
from assent.web.server import bind, make_server
from demo.story import DESK, DESKTOP, Narration, Story, desktop_entry, print_next_steps
from demo.upstream import Office

_FILES = Path(__file__).parent
UPSTREAM, NOTES = "office", "notes"
KEYS = "keys"
MARK = "# Written by `assent demo`"
POLL = 0.5
_DECIDED = {
    ApprovalState.APPROVED: "You approved it: exactly this call may now run, once. Make it again as shown above.",
    ApprovalState.CONSUMED: "You approved it, and the call has run.",
    ApprovalState.DECLINED: "You declined it: the files stay, and the agent is told so.",
}
_OURS = ("assent.db", "assent.db-wal", "assent.db-shm", LOCK, "book.jsonl", DESKTOP, "notes.py", "notes.yaml")


async def run(folder: Path, port: int, once: bool, opens: bool) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    playing = asyncio.ensure_future(_play(folder, port, once, opens, stop))
    stopped = asyncio.ensure_future(stop.wait())
    await asyncio.wait({playing, stopped}, return_when=asyncio.FIRST_COMPLETED)
    playing.cancel()
    stopped.cancel()
    ended = (await asyncio.gather(playing, stopped, return_exceptions=True))[0]
    if isinstance(ended, Exception):
        raise ended
    click.echo(f"Stopped. Its files are in {folder}/; delete the folder when you are done.", err=True)


async def _play(folder: Path, port: int, once: bool, opens: bool, stop: asyncio.Event) -> None:
    async with AsyncExitStack() as stack:
        _lock_folder(stack, folder)
        office = Office(folder / "book.jsonl")
        upstream = await _serve(stack, office.server.streamable_http_app(), _listener(0))
        listener = _listener(port)
        port = listener.getsockname()[1]
        missing = next((one for one in findings() if one.missing), None)
        file = _write(folder, upstream, f"http://127.0.0.1:{port}", confined=missing is None)
        gateway_app = await open_gateway(load_settings(file))
        stack.push_async_callback(gateway_app.stop)
        await gateway_app.start()
        await _accept(gateway_app, folder)
        pages = StatusPages(gateway_app, await store_mark(gateway_app.store))
        url = await _serve(stack, gateway_app.app(console_in_front(gateway_app, pages)), listener)
        await keep_address(gateway_app.store, "127.0.0.1", port)
        await stack.enter_async_context(
            following(
                gateway_app,
                file,
                lambda: load_settings(file),
                "127.0.0.1",
                port,
                signature(watched_files(file, gateway_app.settings)),
            )
        )
        # `following` reloads on this signal; a demo whose terminal was closed must end instead.
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, stop.set)
        told = Narration()
        told.say(
            f"An office with its own MCP server, and an agent that works for it. Between them: Assent, at {url}.", ""
        )
        story = Story(url, office, lambda: gateway_app.reload(UPSTREAM), told, folder, missing)
        await story.tell()
        link = await sign_in_url(gateway_app.store, url.removesuffix("/mcp"), console_person())
        print_next_steps(told, assent_command(), url, folder, story.pending, link)
        if opens and not await asyncio.to_thread(webbrowser.open, link):
            click.echo("No browser could be started; open the link yourself.", err=True)
        if not once:
            click.echo(f"\nServing until Ctrl-C. The files of the demo are in {folder}/.")
            await _say_decision(gateway_app.store, story.pending, told)
            await stop.wait()


async def _say_decision(store: Store, approval: str, told: Narration) -> None:
    """Wait until the call that the demo left is decided or expires, and say so."""
    while (found := await store.approval(approval)) is not None:
        state = found.state_at(time.time())
        if state is not ApprovalState.PENDING:
            told.good(_DECIDED.get(state, "It was not decided in time: the files stay."))
            return
        await asyncio.sleep(POLL)


def _lock_folder(stack: AsyncExitStack, folder: Path) -> None:
    """Locks the folder and deletes the files of the last demo, but no others."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = os.open(folder, os.O_RDONLY)
        stack.callback(os.close, held)
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _check_ours(folder)
        for name in _OURS:
            (folder / name).unlink(missing_ok=True)
        shutil.rmtree(folder / KEYS, ignore_errors=True)  # The keys signed a log that no longer exists.
        shutil.rmtree(folder / DESK, ignore_errors=True)
    except BlockingIOError:
        fault = Fault(f"a demo already runs in {folder}", "Stop it with Ctrl-C, or choose another --folder")
        raise SettingsError(fault) from None
    except OSError as error:
        raise SettingsError(Fault(f"{folder} cannot be used: {error.strerror}", "Choose another --folder")) from None


def _check_ours(folder: Path) -> None:
    """Refuses a folder that holds files of another program."""
    file = folder / "assent.yaml"
    if any(folder.iterdir()) and not (file.exists() and file.read_text("utf-8", "replace").startswith(MARK)):
        raise SettingsError(Fault(f"{folder} contains files that are not the demo's", "Choose another --folder"))


def _listener(port: int) -> socket.socket:
    """A socket on this port if it is free, otherwise on any free port."""
    try:
        return bind("127.0.0.1", port)
    except OSError:
        free = bind("127.0.0.1", 0)
        click.echo(f"Port {port} is in use; the demo uses {free.getsockname()[1]}. Choose one with --port.", err=True)
        return free


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


def _write(folder: Path, upstream: str, gateway: str, confined: bool) -> Path:
    """Writes the configuration of the gateway, and one for a client that wraps the same server."""
    common: dict[str, Any] = {"store": "sqlite:///assent.db", "mode": "enforce", "contracts": ["contracts.yaml"]}
    common |= {"secrets": {"directory": KEYS}}
    served: dict[str, Any] = {
        "public_url": gateway,
        "upstreams": {UPSTREAM: {"url": upstream, "prefix": ""}},
        "defaults": {"confirmation": {"critical": "user"}},
        "auth": {"anonymous": {"kind": "agent", "scopes": ["*"]}},
    }
    if confined:
        served["upstreams"] |= {NOTES: _write_notes(folder)}
        served["contracts"] = [*common["contracts"], "notes.yaml"]
    wrapped: dict[str, Any] = {"auth": {"stdio": {"kind": "agent", "scopes": ["*"], "name": "desktop"}}}
    wrapped |= {"engine": "off"}  # An engine keeps its files outside of the demo's folder.
    contracts = _FILES.joinpath("contracts.yaml").read_text(encoding="utf-8")
    for name, settings in (("assent.yaml", common | served), ("client.yaml", common | wrapped)):
        text = f"{MARK}, afresh each time.\n{write_yaml(settings)}"
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "contracts.yaml").write_text(contracts, encoding="utf-8")
    (folder / DESKTOP).write_text(desktop_entry(assent_command(), folder), encoding="utf-8")
    if user_file().parent.exists():  # The demo itself writes nothing outside its folder.
        trust_written(folder / "assent.yaml")
    return folder / "assent.yaml"


def _write_notes(folder: Path) -> dict[str, Any]:
    """Writes a server that lies about its tool, with a note to read, and returns its settings."""
    desk = (folder / DESK).resolve()
    desk.mkdir()
    (desk / "note.txt").write_text("Call Ann about the prints.\n", encoding="utf-8")
    source = _FILES.joinpath("notes.py").read_text(encoding="utf-8")
    (folder / "notes.py").write_text(source, encoding="utf-8")
    (folder / "notes.yaml").write_text(
        f"upstream: {NOTES}\ntools: {{count_words: {{side_effect: read, open_world: false}}}}\n", encoding="utf-8"
    )
    sandbox = {"mode": "enforce", "read": [str(desk)], "write": [str(desk)]}
    command = [sys.executable, str((folder / "notes.py").resolve())]
    return {"command": command, "prefix": "", "sandbox": sandbox}


async def _accept(gateway_app: GatewayApp, folder: Path) -> None:
    """Accepts the current definitions, as `assent pin --write` does."""
    pins = {name: pins_of(await link.load()) for name, link in gateway_app.current.links.items()}
    (folder / LOCK).write_text(pins_text(pins), encoding="utf-8")
