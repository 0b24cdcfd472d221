"""An MCP client for a server that is a child process, in either era; it passes the server's JSON on unchanged.

A question of a shared process goes to its only caller: see ADR 0044.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any

from assent.mcp.channel import StreamListener
from assent.mcp.jsonrpc import RpcError, cannot_be_asked, settle, with_envelope
from assent.mcp.protocol import (
    INTERNAL_ERROR,
    LATEST_MODERN_VERSION,
    MODERN_PROTOCOL_VERSIONS,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from assent.mcp.server_identity import Described, described_by
from assent.upstreams.conditional_tools import CAN_BE_ASKED
from assent.upstreams.errors import (
    ConnectionLost,
    ProtocolViolation,
    TimedOut,
    Unreachable,
    UpstreamError,
    safe_error_text,
)
from assent.upstreams.pagination import all_pages
from assent.upstreams.stdio.handshake import Probe, described_by_probe, negotiate_era
from assent.upstreams.stdio.process import LaunchSpec, ServerProcess, StartProcess, how_ended
from assent.upstreams.stdio.stderr import StderrLog

logger = logging.getLogger(__name__)

LONGEST_PAUSE = 60.0
MOST_SENDING = 256

Listener = Callable[[dict[str, Any]], None]
Question = Callable[[dict[str, Any]], Awaitable[dict[str, Any] | None]]
PendingAnswer = asyncio.Future[dict[str, Any]]


class StdioUpstream:
    """One server on the stdio of a process, started on first use and again when it ends.

    `mark` makes the ids of the gateway's requests unique. `listen` gets every message that is not a response to
    them.
    """

    def __init__(
        self,
        launch: LaunchSpec,
        client_info: dict[str, Any],
        *,
        mark: str,
        clock: Callable[[], float],
        patience: float = 30.0,
    ) -> None:
        self.name, self.patience = launch.name, patience
        self.described: Described | None = None
        self.known: Described | None = None
        """Its last description of itself, whether or not it runs now."""
        self.listen: Listener = self.answer_alone
        self.on_log: Listener = lambda _: None
        self.on_notice: Listener = lambda _: None
        """Gets the server's notifications if no client listens."""
        self.on_question: Question = _cannot_be_asked
        """Answers the server's questions if no client listens; None if no caller can be asked."""
        self.capabilities: dict[str, Any] = CAN_BE_ASKED
        """What a handshake-era server is told that its clients can do."""
        self.level: str | None = None
        """The log level of a handshake-era server, sent whenever it starts."""
        self.is_asking: Callable[[], bool] = lambda: False
        """Whether a question of the server waits for its answer; then the server does not count as silent."""
        self._launch, self.client_info, self._mark, self._clock = launch, client_info, mark, clock
        self._stderr = StderrLog(launch.name, clock, launch.without_secret)
        self._child: ServerProcess | None = None
        self._replaced: ServerProcess | None = None
        self._probing: Probe | None = None
        self._turn = asyncio.Lock()
        self._ids = count(1)
        self._waiting: dict[str, PendingAnswer] = {}
        self._progress_listeners: dict[str, tuple[Any, StreamListener]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._sending: Counter[int] = Counter()
        self._received = 0
        self._pause, self._not_before, self._last_end = 0.0, 0.0, ""
        self._retired = False
        self._greeting: dict[str, Any] | None = None
        """The client's own parameters of `initialize`, where it greeted the server itself."""

    @property
    def is_modern(self) -> bool:
        return self.described is not None and self.described.version in MODERN_PROTOCOL_VERSIONS

    @property
    def is_busy(self) -> bool:
        """Whether a request waits for its response."""
        return bool(self._waiting)

    @property
    def pid(self) -> int:
        """The process that runs now; 0 if none does."""
        return self._child.pid if self._child is not None else 0

    async def start(self) -> None:
        """Start the process if it does not run; sends nothing to it yet."""
        async with self._turn:
            await self._ensure_running()

    async def ready(self) -> Described:
        """Return the description of the running server; start it if it does not run, with growing pauses in between."""
        async with self._turn:
            await self._ensure_running()
            if self.described is None:
                try:
                    self.described = self.known = await negotiate_era(self, self._probe())
                except Exception as error:
                    await self._stop_process(safe_error_text(error))
                    raise
                except BaseException:
                    await self._stop_process()
                    raise
            return self.described

    async def speaks_modern(self) -> bool:
        """Whether the server supports the modern revision. It is not initialized, so either era stays possible."""
        async with self._turn:
            await self._ensure_running()
            probing = self._probe()
        await asyncio.wait([probing])
        return described_by_probe(probing) is not None

    async def open(self, params: dict[str, Any]) -> dict[str, Any]:
        """Initialize the server with a client's own parameters and return its response.

        A server that took our probe as the choice of an era refuses. It is restarted once, because only the probe
        was sent to it.
        """
        async with self._turn:
            await self._ensure_running()
            try:
                result = await self.exchange("initialize", params)
            except RpcError as error:
                if error.code != UNSUPPORTED_PROTOCOL_VERSION or self._probing is None:
                    raise
                await self._restart()
                result = await self.exchange("initialize", params)
            self._greeting = params
            version = str(result.get("protocolVersion"))
            self.described = self.known = described_by(version, result.get("serverInfo"), result)
            return result

    async def relaunch(self, start: StartProcess) -> None:
        """Start the process anew, in this way from now on, and greet it as it was greeted before."""
        async with self._turn:
            self._launch = replace(self._launch, start=start)
            was_running, described = self._child is not None, self.described
            if not was_running:
                return
            await self._restart()
            if self._greeting is not None and described is not None:
                await self.exchange("initialize", self._greeting)
                await self.notify("notifications/initialized")
                self.described = described

    async def wait_until_ended(self) -> str:
        """Wait until the running process has ended by itself, and say how."""
        child = self._child
        while child is not None:
            await child.ended.wait()
            if child is not self._replaced:
                break
            async with self._turn:
                child = self._child
        return self._last_end or how_ended(child.code if child is not None else None)

    async def retire(self, patience: float) -> None:
        """Wait for running requests within a bound, then close; the process is not started again."""
        self._retired = True
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    while self._waiting:
                        await asyncio.wait(list(self._waiting.values()))
                        await asyncio.sleep(0)  # A caller that got its response may send another request.
        finally:
            await self.close()

    async def close(self) -> None:
        await self._stop_process()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def list_all(self, method: str, key: str, capabilities: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """Every page of a list, each entry as the server wrote it; a modern server is told the capabilities."""
        return await all_pages(
            self.name, method, key, lambda page: self.exchange(method, self.enveloped(page, capabilities or {}))
        )

    async def request(
        self,
        method: str,
        params: dict[str, Any],
        capabilities: dict[str, Any] | None,
        stream_listener: StreamListener | None = None,
    ) -> dict[str, Any]:
        """Send one request and return its result; a modern server gets the modern envelope."""
        await self.ready()
        return await self.exchange(method, self.enveloped(params, capabilities), stream_listener)

    def new_id(self) -> str:
        return f"{self._mark}-{next(self._ids)}"

    async def exchange(
        self,
        method: str,
        params: dict[str, Any],
        stream_listener: StreamListener | None = None,
        *,
        request_id: str | None = None,
        endless: bool = False,
    ) -> dict[str, Any]:
        """Send one request unchanged and return its result. Raises `RpcError` as the server sent it, or an
        `UpstreamError`.

        Cancelling it tells the server. `endless` is for a request without a time limit.
        """
        request_id = request_id or self.new_id()
        answer = self._waiting[request_id] = asyncio.get_running_loop().create_future()
        try:
            await self._post(request_id, method, params, stream_listener)
            return await (answer if endless else self._wait_for_response(answer, method))
        except (asyncio.CancelledError, TimedOut):
            self._spawn(self._notify_cancelled(request_id))
            raise
        finally:
            self._waiting.pop(request_id, None)
            self._progress_listeners.pop(request_id, None)

    async def send(self, message: dict[str, Any]) -> None:
        """Pass a message on unchanged."""
        if self._child is None:
            raise Unreachable(self.name, "it is not running", sent=False)
        await self._child.send(message)

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        await self.send(message if params is None else {**message, "params": params})

    def enveloped(self, params: dict[str, Any], capabilities: dict[str, Any] | None) -> dict[str, Any]:
        return self._with_envelope(params, capabilities) if self.is_modern else params

    def _with_envelope(self, params: dict[str, Any], capabilities: dict[str, Any] | None) -> dict[str, Any]:
        return with_envelope(params, LATEST_MODERN_VERSION, capabilities, self.client_info)

    async def _post(
        self, request_id: str, method: str, params: dict[str, Any], stream_listener: StreamListener | None = None
    ) -> None:
        meta = params.get("_meta")
        if stream_listener is not None and isinstance(meta, dict) and "progressToken" in meta:
            # Two callers may use one token: the server sees the gateway's, each caller its own.
            self._progress_listeners[request_id] = (meta["progressToken"], stream_listener)
            params = {**params, "_meta": {**meta, "progressToken": request_id}}
        await self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})

    async def _wait_for_response(self, answer: PendingAnswer, method: str) -> dict[str, Any]:
        """Wait for the response, unless the server sends nothing at all for too long."""
        while not answer.done():
            received = self._received
            await asyncio.wait([answer], timeout=self.patience)
            if not answer.done() and received == self._received and not self.is_asking():
                raise TimedOut(self.name, f"no response to {method} in {self.patience:.0f} seconds", sent=True)
        return answer.result()

    # The process.

    def _probe(self) -> Probe:
        """The response to `server/discover`, which is sent once to each process."""
        if self._probing is None:
            self._probing = asyncio.ensure_future(self.exchange("server/discover", self._with_envelope({}, {})))
        return self._probing

    async def _restart(self) -> None:
        """Restart the process at once."""
        self._replaced, self._not_before = self._child, 0.0
        await self._start_process(self._clock())

    async def _ensure_running(self) -> None:
        if self._child is not None and not self._child.ended.is_set():
            return
        if self._retired:
            raise Unreachable(self.name, "it was removed from the configuration", sent=False)
        now = self._clock()
        if now < self._not_before:
            wait = f"{self._last_end}; it starts again in {self._not_before - now:.0f} s"
            raise Unreachable(self.name, wait, sent=False)
        await self._start_process(now)

    async def _start_process(self, now: float) -> None:
        await self._stop_process()
        self._pause = min(LONGEST_PAUSE, max(1.0, 2 * self._pause))
        self._not_before = now + self._pause
        child = ServerProcess(self._launch, self._on_message, self._on_unreadable, self._stderr)
        try:
            await child.start()
        except UpstreamError as fault:
            self._last_end = fault.detail
            raise
        self._child, self._last_end = child, ""
        self._spawn(self._watch(child, now))

    async def _watch(self, child: ServerProcess, started: float) -> None:
        await child.ended.wait()
        now = self._clock()
        if now - started > LONGEST_PAUSE:
            self._pause, self._not_before = 0.0, now
        if child is self._child or not self._last_end:  # Otherwise the gateway ended it, and set the reason.
            self._last_end = how_ended(child.code)
        if child is self._child:
            self.described = None
            logger.warning("%s: %s", self.name, self._last_end)
            self._fail_waiting(self._last_end)

    async def _stop_process(self, because: str = "") -> None:
        child, self._child, self.described = self._child, None, None
        self._last_end = because or self._last_end
        probing, self._probing = self._probing, None
        if child is not None:
            await child.stop()
            self._fail_waiting("it was stopped")
        if probing is not None:
            await asyncio.gather(probing, return_exceptions=True)

    def _fail_waiting(self, reason: str) -> None:
        for answer in list(self._waiting.values()):
            if not answer.done():
                answer.set_exception(ConnectionLost(self.name, reason, sent=True))

    # Messages from the process.

    def _on_message(self, message: dict[str, Any]) -> None:
        self._received += 1
        request_id = message.get("id")
        answer = self._waiting.get(request_id) if isinstance(request_id, str) else None
        if answer is not None and "method" not in message:
            if not answer.done():
                settle(answer, message, ProtocolViolation(self.name, "the response is not JSON-RPC", sent=True))
            return
        if message.get("method") == "notifications/progress" and self._pass_progress(message):
            return
        self.listen(message)

    def _on_unreadable(self, request_id: int | str, fault: type[UpstreamError], reason: str) -> None:
        """Report an unreadable response to its request."""
        answer = self._waiting.get(request_id) if isinstance(request_id, str) else None
        if answer is None:
            error = {"code": INTERNAL_ERROR, "message": reason}
            self.listen({"jsonrpc": "2.0", "id": request_id, "error": error})
        elif not answer.done():
            answer.set_exception(fault(self.name, reason, sent=True))

    def _pass_progress(self, message: dict[str, Any]) -> bool:
        params = message.get("params")
        known = self._progress_listeners.get(str(params.get("progressToken"))) if isinstance(params, dict) else None
        if known is None:
            return False
        token, stream_listener = known
        self._spawn(
            self._send_progress(stream_listener, {**message, "params": {**(params or {}), "progressToken": token}})
        )
        return True

    async def _send_progress(self, stream_listener: StreamListener, message: dict[str, Any]) -> None:
        """Pass progress on; a caller that reads too slowly misses some of it."""
        if self._sending[id(stream_listener)] >= MOST_SENDING:
            return
        self._sending[id(stream_listener)] += 1
        try:
            await stream_listener.notify(message)
        finally:
            self._sending[id(stream_listener)] -= 1
            if not self._sending[id(stream_listener)]:
                del self._sending[id(stream_listener)]

    def answer_alone(self, message: dict[str, Any]) -> None:
        """Answer a ping, have a question answered or refused, and pass other messages on as notifications."""
        if "id" in message and "method" in message:
            self._spawn(self._answer(message))
        elif message.get("method") == "notifications/message":
            self.on_log(message)
        elif isinstance(message.get("method"), str):
            self.on_notice(message)

    async def _answer(self, question: dict[str, Any]) -> None:
        answer: dict[str, Any] | None = {"jsonrpc": "2.0", "id": question["id"], "result": {}}
        if question["method"] != "ping":
            answer = await self.on_question(question)
        with suppress(UpstreamError):
            await self.send(answer or cannot_be_asked(question))

    async def _notify_cancelled(self, request_id: str) -> None:
        with suppress(UpstreamError):
            await self.notify("notifications/cancelled", {"requestId": request_id})

    def _spawn(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _cannot_be_asked(_: dict[str, Any]) -> None:
    return None
