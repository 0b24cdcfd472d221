"""`assent serve`: the gateway."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import click

from assent import logs
from assent.anchoring import anchors_of
from assent.bootstrap import load_pins
from assent.commands.options import config_option
from assent.console.start import console_in_front, keep_address
from assent.edges.pages import Pages
from assent.edges.server import bind, make_server, spare_collector
from assent.errors import Fault, SettingsError
from assent.house import House, open_house
from assent.keyring import Keyring
from assent.reception import check_bind, has_kept_keys, lets_nobody_in
from assent.reloading import Reloading, Signature, signature, watched_files
from assent.settings import Settings, find_file, find_settings
from assent.stores.inspect import check_store
from assent.telemetry import observed


@click.command()
@config_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8420, show_default=True, type=click.IntRange(0, 65535))
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True
)
@click.option("--check", is_flag=True, help="Validate the configuration and exit.")
def serve(config: Path | None, host: str, port: int, log_format: str, log_level: str, check: bool) -> None:
    """Govern every call to the configured upstreams, over HTTP at /mcp."""
    file = find_file(config)
    settings = find_settings(config)
    check_bind(settings, host, lambda: asyncio.run(has_kept_keys(settings)))
    if not settings.upstreams:
        raise SettingsError(Fault("there is nothing to serve", "Name a server", "upstreams"))
    if check:
        asyncio.run(_check(settings))
        click.echo("The configuration holds.", err=True)
        return
    logs.begin(log_format, log_level)
    asyncio.run(run(settings, host, port, file, lambda: find_settings(config)))


async def _check(settings: Settings) -> None:
    """Everything that would stop a start or leave it without tools; nothing is made or changed."""
    await check_store(settings.store)
    Keyring(Path(settings.secrets.directory)).check()
    anchors_of(settings)
    if settings.pins is not None:
        load_pins(Path(settings.pins))
    house = await open_house(settings.model_copy(update={"store": "memory://"}))
    await house.stop()


async def run(settings: Settings, host: str, port: int, file: Path, read: Callable[[], Settings]) -> None:
    """Serve until a signal says stop; then finish what is under way. What `read` gives when a file has changed holds
    from then on."""
    seen = signature(watched_files(file, settings))
    try:
        listener = bind(host, port)
    except OSError as error:
        raise SettingsError(Fault(f"{host}:{port} cannot be used: {error.strerror}", "Choose another --port")) from None
    port = listener.getsockname()[1]
    house = await open_house(at_port(settings, host, port))
    server = make_server(house.app(console_in_front(house, Pages(house))), lifespan="off")
    serving = asyncio.create_task(server._serve(sockets=[listener]))
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await house.start()
    spare_collector()
    await keep_address(house.store, host, port)
    where = f"http://{host}:{port}"
    click.echo(f"Assent serves {len(house.catalogue().tools)} tools at {where}/mcp ({settings.mode})", err=True)
    if await lets_nobody_in(settings, house.store):
        click.echo("Nobody can call them yet: make a key (assent keys create), or say who may under `auth:`.", err=True)
    waiting = asyncio.create_task(stop.wait())
    async with following(house, file, read, host, port, seen):
        await asyncio.wait({waiting, serving}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    server.should_exit = True
    await house.hush()
    await asyncio.gather(serving, waiting, return_exceptions=True)
    left = await house.stop()
    if house.settings.mode == "observe":
        click.echo("\n".join(observed(house.tally)), err=True)
    click.echo(f"Stopped. {left} calls were left in doubt." if left else "Stopped.", err=True)


def at_port(settings: Settings, host: str, port: int) -> Settings:
    """The settings whose links lead here: on this machine, where none are configured, to the port that is in use."""
    if host not in ("127.0.0.1", "localhost") or "public_url" in settings.model_fields_set:
        return settings
    return settings.model_copy(update={"public_url": f"http://127.0.0.1:{port}"})


@asynccontextmanager
async def following(
    house: House, file: Path, read: Callable[[], Settings], host: str, port: int, seen: Signature
) -> AsyncIterator[None]:
    """While the block runs, changed files are used, and SIGHUP has them read at once."""

    def load() -> Settings:
        settings = read()
        check_bind(settings, host, lambda: asyncio.run(has_kept_keys(settings)))
        return at_port(settings, host, port)

    reloading, asked = Reloading(house, file, load, seen), asyncio.Event()

    async def on_signal() -> None:
        while await asked.wait():
            asked.clear()
            await reloading.reload()

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, asked.set)
    tasks = [asyncio.create_task(reloading.keep()), asyncio.create_task(on_signal())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
