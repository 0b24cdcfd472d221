"""The process of `assent serve`: the gateway over HTTP, until a signal ends it."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import click

from assent.config.anchors import anchors_of
from assent.config.load import find_file, find_settings
from assent.config.lock_file import load_pins
from assent.config.model import Settings
from assent.config.rules import policies_of, policy_faults
from assent.core.question import counted
from assent.core.secret_keys import Keyring
from assent.errors import ContractError, Fault, SettingsError
from assent.features import load_feature
from assent.gateway import logging as logs
from assent.gateway.app import GatewayApp, open_gateway
from assent.gateway.catalogue_preview import preview_catalogue
from assent.gateway.idle_rules import idle_rules
from assent.gateway.metrics import summarize_observed
from assent.gateway.reload import ConfigReloader, Signature, signature, watched_files
from assent.gateway.status_pages import StatusPages
from assent.people.accounts import accounts_without_passkey
from assent.people.console.start import console_in_front, keep_address, store_mark
from assent.ports import Store
from assent.stores.inspect import check_store, in_doubt, older_schema, schema_of
from assent.stores.open import open_store
from assent.upstreams.compiled_tools import NO_CONTRACT
from assent.web.http import is_loopback
from assent.web.server import bind, make_server, run_loop, tune_gc

logger = logging.getLogger(__name__)
_ANSWERS_WITHIN = 30.0


def load(config: Path | None, host: str, migrate: bool = True) -> Settings:
    """The settings, which may be served at this address."""
    settings = find_settings(config)
    check_bind(settings, host, lambda: asyncio.run(has_stored_keys(settings, migrate)))
    if not settings.upstreams:
        raise SettingsError(Fault("no upstream is configured", "`assent add` adds a server", "upstreams"))
    return settings


def listen(host: str, port: int) -> socket.socket:
    """The listening socket; raises SettingsError if the address cannot be used."""
    try:
        return bind(host, port)
    except OSError as error:
        raise SettingsError(Fault(f"{host}:{port} cannot be used: {error.strerror}", "Choose another --port")) from None


def check(config: Path | None, host: str) -> None:
    """Checks the configuration and the upstreams' tools."""
    settings = load(config, host, migrate=False)
    asyncio.run(_check(settings))
    click.echo("The configuration is valid.", err=True)


def start(config: Path | None, host: str, port: int, log_format: str, log_level: str) -> None:
    """Sets up logging and serves until a signal."""
    logs.begin(log_format, log_level)
    logs.log_uncaught()
    logger.setLevel(logging.INFO)  # The start and stop lines are logged at every level.
    with logs.errors_as_json(log_format):
        run_loop(run(load(config, host), host, port, find_file(config), lambda: load(config, host)))


async def _check(settings: Settings) -> None:
    """Raises for everything that would prevent a start or leave a contract without a tool; changes nothing."""
    await check_store(settings.store)
    if older := await older_schema(settings.store):
        click.echo(f"warning: {older}. Copy the database first (docs/upgrade.md)", err=True)
        settings = settings.model_copy(update={"store": "memory://"})
    Keyring(Path(settings.secrets.directory)).check()
    anchors_of(settings)
    if settings.lock_file is not None:
        load_pins(settings.lock_file)
    gateway_app = await open_gateway(settings.model_copy(update={"store": "memory://"}))
    await gateway_app.stop()
    # The problems are printed below instead of logged.
    logging.getLogger(__name__.partition(".")[0]).addHandler(logging.NullHandler())
    preview = await preview_catalogue(settings, within=_ANSWERS_WITHIN)
    for name, trouble in preview.troubles.items():
        click.echo(f"warning: upstream {name} did not answer, so its tools were not checked: {trouble}", err=True)
    for one in preview.served.binding.unchecked:
        click.echo(f"warning: {one.where}: no tool matches the contract {one.name} yet", err=True)
    excluded = preview.served.excluded(preview.links)
    for name, operations in excluded.items():
        click.echo(f"{name}: {counted(len(operations), 'operation')} of the document without a tool", err=True)
    without_tool = {name for operations in excluded.values() for name in operations}
    for name, reason in sorted({**preview.catalogue.withheld, **preview.served.unaccepted()}.items()):
        if reason != NO_CONTRACT and name not in without_tool:  # it is chosen, or an error below
            click.echo(f"warning: {name} is withheld: {reason}", err=True)
    for sentence in idle_rules(settings, preview.catalogue, preview.troubles):
        click.echo(f"warning: {sentence}", err=True)
    complete = not preview.troubles
    if faults := policy_faults(policies_of(settings), preview.catalogue, settings.upstreams, complete=complete):
        raise SettingsError(faults)
    if faults := [*preview.served.binding.faults, *preview.served.unknown_names(preview.catalogue)]:
        raise ContractError(faults)
    preview.served.check_contracts()


async def run(settings: Settings, host: str, port: int, file: Path, read: Callable[[], Settings]) -> None:
    """Serves until a signal, then finishes running calls. `read` loads the settings again when a file has changed."""
    seen = signature(watched_files(file, settings))
    stop_telemetry = load_feature("telemetry").start_telemetry(settings.telemetry) if settings.telemetry.otlp else None
    listener = listen(host, port)
    port = listener.getsockname()[1]
    gateway_app = await open_gateway(at_port(settings, host, port))
    pages = StatusPages(gateway_app, await store_mark(gateway_app.store))
    server = make_server(gateway_app.app(console_in_front(gateway_app, pages)), lifespan="off")
    serving = asyncio.create_task(server._serve(sockets=[listener]))
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        await gateway_app.start()
    except SettingsError:
        server.should_exit = True
        await gateway_app.close_streams()
        await asyncio.gather(serving, return_exceptions=True)
        await gateway_app.stop()
        raise
    tune_gc()
    await keep_address(gateway_app.store, host, port)
    where = f"http://{host}:{port}"
    logger.info("Assent serves %d tools at %s/mcp (%s)", len(gateway_app.current.catalogue.tools), where, settings.mode)
    logger.info("People decide at %s/console/ (`assent console` prints a link that signs you in)", where)
    await log_warnings(gateway_app)
    waiting = asyncio.create_task(stop.wait())
    async with following(gateway_app, file, read, host, port, seen):
        await asyncio.wait({waiting, serving}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    server.should_exit = True
    await gateway_app.close_streams()
    await asyncio.gather(serving, waiting, return_exceptions=True)
    left = await finish(gateway_app)
    if stop_telemetry is not None:
        await asyncio.to_thread(stop_telemetry)
    if not left:
        logger.info("Stopped.")


async def log_warnings(gateway_app: GatewayApp) -> None:
    """Logs what an operator should know after a start."""
    settings = gateway_app.settings
    for sentence in idle_rules(settings, gateway_app.current.catalogue, gateway_app.tools.troubles):
        logger.warning(sentence)
    if await has_no_credentials(settings, gateway_app.store):
        logger.warning("No caller can authenticate yet: create a key (assent keys create), or configure `auth:`.")
    if bare := await accounts_without_passkey(gateway_app.ports):
        logger.warning(
            "Passwords are no longer used, and %s has no passkey: `assent console --account NAME` prints a link with "
            "which the person sets one up.", ", ".join(bare),
        )  # fmt: skip
    if doubts := await in_doubt(gateway_app.store, time.time()):
        logger.warning(doubts)


async def finish(gateway_app: GatewayApp) -> int:
    """Finishes running calls, sums up what was observed, and returns how many calls are in doubt."""
    left = await gateway_app.stop()
    if gateway_app.settings.mode == "observe":
        for line in summarize_observed(gateway_app.runtime.tally):
            logger.info("%s", line)
    if left:
        logger.warning("Stopped. %d calls are in doubt: see `assent claims list`.", left)
    return left


def at_port(settings: Settings, host: str, port: int) -> Settings:
    """The settings with `public_url` set to the actual local port, unless it is configured."""
    if host not in ("127.0.0.1", "localhost") or "public_url" in settings.model_fields_set:
        return settings
    return settings.model_copy(update={"public_url": f"http://127.0.0.1:{port}"})


@asynccontextmanager
async def following(
    gateway_app: GatewayApp, file: Path, read: Callable[[], Settings], host: str, port: int, seen: Signature
) -> AsyncIterator[None]:
    """Applies changed files while the block runs; SIGHUP reloads them at once. `read` checks what it loads."""
    reloading = ConfigReloader(gateway_app, file, lambda: at_port(read(), host, port), seen)
    requested = asyncio.Event()

    async def on_signal() -> None:
        while await requested.wait():
            requested.clear()
            await reloading.reload()

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, requested.set)
    tasks = [asyncio.create_task(reloading.keep()), asyncio.create_task(on_signal())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def has_stored_keys(settings: Settings, migrate: bool) -> bool:
    """Whether the store has an API key that is not revoked. A store that does not exist yet is not created.

    Without `migrate`, a store of an older schema is not opened, and counts as one with keys.
    """
    if (await schema_of(settings.store))[0] == 0:
        return False
    if not migrate and await older_schema(settings.store):
        return True
    store = await open_store(settings.store)
    try:
        return await _keeps_keys(store)
    finally:
        await store.close()


async def has_no_credentials(settings: Settings, store: Store) -> bool:
    """Whether every call would be refused because no way to authenticate is configured."""
    auth = settings.auth
    known = auth.api_keys or auth.jwt or auth.embedded or auth.anonymous
    return not known and not await _keeps_keys(store)


async def _keeps_keys(store: Store) -> bool:
    return any(record.is_good(time.time()) for record in await store.keys())


def check_bind(settings: Settings, host: str, has_keys: Callable[[], bool] = lambda: False) -> None:
    """Refuses to bind an unauthenticated gateway to an address that other machines can reach.

    `has_keys` says whether the store has keys; it is called only when the answer matters.
    """
    if host == "localhost" or is_loopback(host):
        return
    anonymous = settings.auth.anonymous
    if anonymous is not None and not anonymous.tools:
        raise SettingsError(
            Fault(
                f"anonymous callers are not allowed on {host}",
                "Remove auth.anonymous, bind to 127.0.0.1, or name the tools they are offered in auth.anonymous.tools",
                "auth.anonymous",
            )
        )
    auth = settings.auth
    if not (auth.api_keys or auth.jwt or auth.embedded or anonymous) and not has_keys():
        raise SettingsError(
            Fault(
                f"other machines can reach {host}, and no authentication is configured",
                "Add auth.api_keys or auth.jwt, or create a key with: assent keys create",
                "auth",
            )
        )
