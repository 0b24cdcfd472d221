"""`assent serve`: the gateway."""

from __future__ import annotations

import asyncio
import logging
import signal
from pathlib import Path

import click

from assent.commands.options import config_option
from assent.edges.pages import Pages
from assent.edges.server import bind, make_server
from assent.errors import Fault, SettingsError
from assent.house import check_bind, has_kept_keys, open_house
from assent.settings import Settings, find_settings


@click.command()
@config_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8420, show_default=True, type=click.IntRange(0, 65535))
@click.option("--check", is_flag=True, help="Validate the configuration and exit.")
def serve(config: Path | None, host: str, port: int, check: bool) -> None:
    """Govern every call to the configured upstreams, over HTTP at /mcp."""
    settings = find_settings(config)
    check_bind(settings, host, lambda: asyncio.run(has_kept_keys(settings)))
    if not settings.upstreams:
        raise SettingsError(Fault("there is nothing to serve", "Name a server", "upstreams"))
    if check:
        asyncio.run(_check(settings))
        click.echo("The configuration holds.", err=True)
        return
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    asyncio.run(run(settings, host, port))


async def _check(settings: Settings) -> None:
    house = await open_house(settings)
    await house.stop()


async def run(settings: Settings, host: str, port: int) -> None:
    """Serve until a signal says stop; then finish what is under way."""
    try:
        listener = bind(host, port)
    except OSError as error:
        raise SettingsError(Fault(f"{host}:{port} cannot be used: {error.strerror}", "Choose another --port")) from None
    house = await open_house(settings)
    server = make_server(house.app(Pages(house)), lifespan="off")
    serving = asyncio.create_task(server._serve(sockets=[listener]))
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await house.start()
    where = f"http://{host}:{listener.getsockname()[1]}"
    click.echo(f"Assent serves {len(house.catalogue().tools)} tools at {where}/mcp ({settings.mode})", err=True)
    for name, trouble in house.troubles().items():
        click.echo(f"upstream {name}: {trouble}", err=True)
    waiting = asyncio.create_task(stop.wait())
    await asyncio.wait({waiting, serving}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    server.should_exit = True
    await asyncio.gather(serving, waiting, return_exceptions=True)
    left = await house.stop()
    click.echo(f"Stopped. {left} calls were left in doubt." if left else "Stopped.", err=True)
