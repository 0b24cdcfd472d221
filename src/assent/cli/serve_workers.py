"""The supervisor of `assent serve --workers N`: one port, N gateway processes.

It only starts, watches and ends the workers; requests never pass through it. A worker that ends is started again,
after a pause that grows while it keeps ending.
"""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from assent.cli.serve_order import WorkerOrder, check_workers, fixed_settings, load, make_socket_folder, reserve
from assent.errors import AssentError
from assent.gateway import logging as logs
from assent.stores.inspect import check_store

logger = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
STEADY = 60.0
"""Seconds after which a worker that ends is started again without a longer pause."""
MOST_DRAIN = 45.0
"""Seconds that workers have to finish their calls. Each gives up earlier by itself."""


class WorkerFailed(AssentError):
    """A worker ended before it was ready for the first time; it has said why."""


class WorkerSupervisor:
    """Keeps the workers running until it is told to stop."""

    def __init__(self, order: WorkerOrder, listener: socket.socket) -> None:
        self._order, self._listener = order, listener
        self._running: dict[int, asyncio.subprocess.Process] = {}
        self._ready: set[int] = set()
        """The process ids of workers that answer requests."""
        self.stopping = asyncio.Event()

    async def run(self, where: str) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.stopping.set)
        loop.add_signal_handler(signal.SIGHUP, self._reload_all)
        first = [await self._start(index) for index in range(self._order.workers)]
        keepers: list[asyncio.Task[None]] = []
        try:
            said = await asyncio.gather(*(self._wait_until_ready(process) for process in first))
            if all(said):
                count, mode = said[0]["tools"], said[0]["mode"]
                logger.info("Assent serves %d tools at %s/mcp (%s) with %d workers", count, where, mode, len(first))
                keepers = [asyncio.create_task(self._keep(*one)) for one in enumerate(first)]
                await self.stopping.wait()
                logger.info("Stopping: running calls have up to %g s to end.", MOST_DRAIN)
        finally:
            await self._end(keepers)
        if not all(said) and not self.stopping.is_set():
            raise WorkerFailed("A worker did not start, so nothing is served. Its own message is above.")

    async def _start(self, index: int) -> asyncio.subprocess.Process:
        order = WorkerOrder(**{**vars(self._order), "index": index})
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "assent.cli.serve_worker",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[self._listener.fileno()],
            process_group=0,  # Ctrl-C in a terminal reaches the supervisor alone, which tells the workers.
        )
        assert process.stdin is not None
        process.stdin.write(order.encode())  # Every user of the machine can read arguments.
        self._running[index] = process
        return process

    async def _wait_until_ready(self, process: asyncio.subprocess.Process) -> dict[str, str]:
        """What the worker says when it is ready; nothing if it ends or is told to stop before."""
        assert process.stdout is not None
        line = asyncio.ensure_future(process.stdout.readline())
        stopping = asyncio.ensure_future(self.stopping.wait())
        await asyncio.wait({line, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not line.done():
            line.cancel()
            return {}
        said: dict[str, str] = json.loads(line.result() or b"{}")
        if said:
            self._ready.add(process.pid)
        return said

    async def _keep(self, index: int, process: asyncio.subprocess.Process) -> None:
        """Starts this worker again whenever it ends."""
        pause, since = FIRST_PAUSE, time.monotonic()
        while True:
            how = _how_it_ended(await process.wait(), served=process.pid in self._ready)
            self._ready.discard(process.pid)
            if self.stopping.is_set():
                return
            pause = FIRST_PAUSE if time.monotonic() - since > STEADY else pause
            rest = "; the others serve on" if self._ready else "; until then connections are refused"
            logger.error("worker %d (process %d) %s; it starts again in %g s%s", index, process.pid, how, pause, rest)
            process, pause = await self._start_again(index, pause)
            since = time.monotonic()
            if await self._wait_until_ready(process):
                logger.info("worker %d (process %d) serves again", index, process.pid)

    async def _start_again(self, index: int, pause: float) -> tuple[asyncio.subprocess.Process, float]:
        """The process, once the machine can start one, and how long to wait if it ends soon."""
        while True:
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
            try:
                return await self._start(index), pause
            except OSError as error:
                logger.error("worker %d cannot be started and is tried again in %g s: %s", index, pause, error)

    def _reload_all(self) -> None:
        """Tells workers to read their files again. One that still starts reads them anyway, and the signal would end
        it.
        """
        for process in self._running.values():
            if process.returncode is None and process.pid in self._ready:
                process.send_signal(signal.SIGHUP)

    def _signal_all(self, number: int) -> None:
        for process in self._running.values():
            if process.returncode is None:
                process.send_signal(number)

    async def _end(self, keepers: list[asyncio.Task[None]]) -> None:
        """Tells every worker to finish its calls, and ends those that do not stop in time."""
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)
        self._signal_all(signal.SIGTERM)
        ends = [asyncio.ensure_future(process.wait()) for process in self._running.values()]
        _, late = await asyncio.wait(ends, timeout=MOST_DRAIN)
        if late:
            logger.error("%d workers did not stop in %g s and were ended", len(late), MOST_DRAIN)
            self._signal_all(signal.SIGKILL)
            await asyncio.gather(*ends)


def _how_it_ended(code: int, *, served: bool) -> str:
    """What the log says about a worker that has ended, and about its calls."""
    names = {one.value: one.name for one in signal.Signals}
    how = f"was ended by {names.get(-code, f'signal {-code}')}" if code < 0 else f"ended with exit code {code}"
    return f"{how}, so its running calls may be in doubt (assent claims list)" if served else f"{how} before it served"


def start(config: Path | None, host: str, port: int, log_format: str, log_level: str, workers: int) -> None:
    """Opens the socket and serves until a signal."""
    logs.begin(log_format, log_level)
    logs.log_uncaught()
    logger.setLevel(logging.INFO)  # The start and stop lines are logged at every level.
    with logs.errors_as_json(log_format):
        settings = load(config, host)
        check_workers(settings, workers)
        asyncio.run(check_store(settings.store))  # Here, so that it is said once and not by every worker.
        listener = reserve(host, port)
        port = listener.getsockname()[1]
        directory = make_socket_folder()
        order = WorkerOrder(
            str(config) if config else None, host, port, listener.fileno(), 0, workers, str(directory),
            fixed_settings(settings), log_format, log_level,
        )  # fmt: skip
        try:
            asyncio.run(WorkerSupervisor(order, listener).run(f"http://{host}:{port}"))
            logger.info("Stopped.")
        finally:
            listener.close()
            shutil.rmtree(directory, ignore_errors=True)
