"""The process of `assent console --store`: the console of a store without a gateway, on this machine."""

from __future__ import annotations

import asyncio
import signal
import time

import click

from assent.cli.console import ONCE
from assent.cli.serve_process import listen
from assent.cli.shared.options import console_person
from assent.cli.shared.store_access import running_gateways
from assent.core.secret_keys import Keyring
from assent.errors import Fault, SettingsError
from assent.people.console.start import sign_in_url
from assent.people.console.store_console import RecordedTools, StoreConsole
from assent.pipeline.ports_factory import make_ports
from assent.ports import Store
from assent.stores.inspect import schema_of
from assent.stores.open import open_store, store_command
from assent.stores.probe import StoreProbe
from assent.web.server import make_server, run_loop

HOST = "127.0.0.1"


def serve_store(url: str, port: int) -> None:
    """Serve until a signal. Raises SettingsError for a store that has no records, or that cannot be written."""
    run_loop(_run(url, port))


async def _run(url: str, port: int) -> None:
    store = await _open(url)
    try:
        if gateways := await running_gateways(store):
            click.echo(await sign_in_url(store, gateways[0], console_person()))
            click.echo(f"A gateway uses this store; this is the link to its console. {ONCE}", err=True)
            return
        await _serve(url, store, port)
    finally:
        await store.close()


async def _open(url: str) -> Store:
    """The store, if a server has used it before; nothing is created."""
    if url.startswith("memory:"):
        remedy = "Give the server a file or database as its store, or the console: Assent(console=True)"
        raise SettingsError(Fault("a store in memory belongs to one process", remedy, "--store"))
    if (await schema_of(url))[0] == 0:
        remedy = "Start the server that uses it first, and check the path: sqlite:///shop.db is relative to this folder"
        raise SettingsError(Fault("there is no store at this URL", remedy, "--store"))
    store = await open_store(url)
    if not await StoreProbe(store, time.time).is_writable():
        await store.close()
        remedy = "Use an account that may write it"
        raise SettingsError(Fault("this store cannot be written; a sign-in and a decision are", remedy, "--store"))
    return store


async def _serve(url: str, store: Store, port: int) -> None:
    listener = listen(HOST, port)
    address, keyring, tools = f"http://{HOST}:{listener.getsockname()[1]}", Keyring(None), RecordedTools(store)
    ports = make_ports(
        store, lambda: tools.catalogue, derive_key=keyring.derive, keyed_hash=keyring.keyed_hash, attach=0.0
    )
    command = store_command(url)("console") or ""
    server = make_server(StoreConsole(ports, tools, address, command), lifespan="off")
    serving = asyncio.create_task(server._serve(sockets=[listener]))
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    click.echo(await sign_in_url(store, address, console_person()))
    click.echo(f"{ONCE} Press Ctrl-C to end the console.", err=True)
    waiting = asyncio.create_task(stop.wait())
    await asyncio.wait({waiting, serving}, return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    waiting.cancel()
    await asyncio.gather(serving, waiting, return_exceptions=True)
