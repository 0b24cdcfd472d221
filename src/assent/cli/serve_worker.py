"""One worker of `assent serve --workers N`: a gateway on the port that all workers share.

The supervisor starts it as `python -m assent.cli.serve_worker` with a `WorkerOrder` on standard input. It says on
standard output when it is ready. When standard input ends, the supervisor is gone, and the worker stops as for a
signal.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from pathlib import Path

import click
import uvicorn

from assent.cli.serve_order import WorkerOrder, check_workers, fixed_settings, load, own_listener
from assent.cli.serve_process import at_port, finish, following, log_warnings
from assent.config.load import find_file
from assent.config.model import Settings
from assent.console.start import console_in_front, keep_address
from assent.errors import AssentError, Fault, SettingsError
from assent.gateway import logging as logs
from assent.gateway.app import GatewayApp, open_gateway
from assent.gateway.reload import signature, watched_files
from assent.gateway.status_pages import StatusPages
from assent.gateway.workers.private_server import PrivateServer
from assent.gateway.workers.router import WorkerRouter
from assent.web.server import make_server, run_loop, tune_gc

STDIN, STDOUT, STDERR = 0, 1, 2


class Worker:
    """This process among the workers."""

    def __init__(self, order: WorkerOrder, supervisor: int) -> None:
        self.order, self.supervisor = order, supervisor
        self.file = find_file(Path(order.config) if order.config else None)

    async def run(self, settings: Settings) -> None:
        """Serves until a signal, or until the supervisor is gone."""
        order = self.order
        seen = signature(watched_files(self.file, settings))
        gateway_app = await open_gateway(at_port(settings, order.host, order.port), f"{order.index}~")
        sockets = {number: Path(order.directory, f"{number}.sock") for number in range(order.workers)}
        router = WorkerRouter(
            gateway_app.app(console_in_front(gateway_app, StatusPages(gateway_app))), order.index, sockets
        )
        stop, private = self._stop_event(), PrivateServer(router.local, sockets[order.index])
        try:
            await gateway_app.start()
            await _open(private, order.directory)
            listener = own_listener(order)
        except SettingsError:
            await gateway_app.stop()
            raise
        tune_gc()
        server = make_server(router, lifespan="off")
        serving = asyncio.create_task(server._serve([listener]))
        await self._announce(gateway_app, server, serving)
        waiting, keeping = asyncio.create_task(stop.wait()), asyncio.create_task(private.keep())
        async with following(gateway_app, self.file, self.read_settings, order.host, order.port, seen):
            await asyncio.wait({waiting, serving, keeping}, return_when=asyncio.FIRST_COMPLETED)
        server.should_exit = True
        await gateway_app.close_streams()
        waiting.cancel()
        keeping.cancel()
        await asyncio.gather(serving, private.close(), waiting, keeping, return_exceptions=True)
        await finish(gateway_app)

    async def _announce(self, gateway_app: GatewayApp, server: uvicorn.Server, serving: asyncio.Task[None]) -> None:
        """Tells the supervisor that requests are answered; the first worker logs what an operator should know."""
        while not server.started:  # uvicorn has no event for this
            if serving.done():
                return serving.result()
            await asyncio.sleep(0.01)
        if self.order.index == 0:
            await keep_address(gateway_app.store, self.order.host, self.order.port)
            await log_warnings(gateway_app)
        self.report_ready(len(gateway_app.catalogue().tools), gateway_app.settings.mode)

    def _stop_event(self) -> asyncio.Event:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        self.stop_with_supervisor(stop)
        return stop

    def report_ready(self, tools: int, mode: str) -> None:
        with os.fdopen(self.supervisor, "w") as said:
            said.write(json.dumps({"tools": tools, "mode": mode}) + "\n")

    def stop_with_supervisor(self, stop: asyncio.Event) -> None:
        """Sets `stop` when the supervisor is gone."""
        loop = asyncio.get_running_loop()

        def on_input() -> None:
            if not os.read(STDIN, 1024):
                loop.remove_reader(STDIN)
                stop.set()

        loop.add_reader(STDIN, on_input)

    def read_settings(self) -> Settings:
        """The settings of the files as they are now; what all workers must share may not have changed."""
        settings = load(Path(self.order.config) if self.order.config else None, self.order.host)
        check_workers(settings, self.order.workers)
        if fixed_settings(settings) != self.order.fixed:
            fault = Fault("`store`, `secrets` or `public_url` changed while workers run", "Restart `assent serve`")
            raise SettingsError(fault)
        return settings


async def _open(private: PrivateServer, directory: str) -> None:
    try:
        await private.open()
    except OSError as error:
        remedy = "Set TMPDIR to another folder, with a short path"
        raise SettingsError(Fault(f"a worker cannot open its socket in {directory}: {error}", remedy)) from None


def main(order: WorkerOrder) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # Until files are followed, a reload has nothing to do.
    # What others print goes to the log: the supervisor reads one line, and a full pipe would stop the worker.
    supervisor = os.dup(STDOUT)
    os.dup2(STDERR, STDOUT)
    logs.begin(order.log_format, order.log_level, order.index)
    logs.log_uncaught()
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)  # The supervisor says when requests are answered.
    with logs.errors_as_json(order.log_format):
        worker = Worker(order, supervisor)
        run_loop(worker.run(worker.read_settings()))


if __name__ == "__main__":
    try:
        main(WorkerOrder(**json.loads(sys.stdin.readline())))
    except AssentError as error:
        for line in str(error).splitlines():
            click.echo(f"error: {line}", err=True)
        sys.exit(2)
