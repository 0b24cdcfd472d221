"""The connections to one upstream: picks one for a request, limits its time, and retries safe requests."""

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import dataclass

from assent.upstreams.errors import ConnectionLost, PoolExhausted, TimedOut, Unreachable, UpstreamError, setting_of
from assent.upstreams.http.address import Fields, UpstreamAddress, render_fields
from assent.upstreams.http.circuit_breaker import CircuitBreaker, Health
from assent.upstreams.http.connection import HttpConnection, KnownHeads, UpstreamResponse

_SERVER_UNHEALTHY = frozenset({502, 503, 504})


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for one upstream: connections, waiting calls, seconds and bytes."""

    connections: int = 100
    waiting: int = 10_000
    connect: float = 5.0
    silence: float = 30.0
    total: float = 300.0
    idle: float = 4.0  # Most servers end an idle connection after five seconds.
    body: int = 16 * 1024 * 1024


class Pool:
    """The long-lived connections to one upstream. Waiting calls are served in the order of arrival."""

    def __init__(self, name: str, target: UpstreamAddress, limits: Limits, circuit_breaker: CircuitBreaker) -> None:
        self.name = name
        self.target = target
        self.limits = limits
        self._circuit_breaker = circuit_breaker
        self._idle: list[HttpConnection] = []
        self._open: set[HttpConnection] = set()
        self._known_heads: KnownHeads = {}
        self._connecting = 0
        self._waiters: deque[asyncio.Future[HttpConnection | None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._retired: asyncio.Future[None] | None = None

    @property
    def health(self) -> Health:
        return self._circuit_breaker.health

    async def send(
        self,
        method: bytes,
        fields: Fields = (),
        body: bytes = b"",
        *,
        path: bytes | None = None,
        safe: bool = False,
        silence: float | None = None,
        total: float | None = None,
    ) -> UpstreamResponse:
        """Send one request and return when the status and headers of its response have arrived.

        A `safe` request is sent again if a kept-alive connection turns out to be dead; any other request is never
        sent twice.
        """
        request = b"%b%bcontent-length: %d\r\n\r\n%b" % (
            self.target.head(method, path), render_fields(fields), len(body), body,
        )  # fmt: skip
        return await self.send_bytes(request, safe=safe, silence=silence, total=total)

    async def send_bytes(
        self, request: bytes, *, safe: bool = False, silence: float | None = None, total: float | None = None
    ) -> UpstreamResponse:
        """Like `send`, for a request that is already encoded."""
        breaker, limits = self._circuit_breaker, self.limits
        if breaker.has_failures:
            breaker.enter()
        try:
            response = await self._exchange(
                request, safe, limits.silence if silence is None else silence, limits.total if total is None else total
            )
        except PoolExhausted:
            breaker.abandon()
            raise
        except UpstreamError as fault:
            breaker.fail(fault.detail, sent=fault.sent)
            raise
        except BaseException:
            breaker.abandon()
            raise
        if response.status in _SERVER_UNHEALTHY:
            breaker.fail(f"answered {response.status}", sent=True)
        elif breaker.has_failures:
            breaker.succeed()
        return response

    async def close(self) -> None:
        """Close every connection; running calls fail with ConnectionLost."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(Unreachable(self.name, "the gateway is stopping", sent=False))
        self._waiters.clear()
        for connection in list(self._open):
            connection.abort(ConnectionLost(self.name, "the gateway is stopping", sent=True))
        await asyncio.sleep(0)

    async def retire(self, patience: float) -> None:
        """Accept no new requests, wait for running ones within a bound, then close."""
        self._retired = asyncio.get_running_loop().create_future()
        self._finish_retirement()
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._retired
        await self.close()

    def _finish_retirement(self) -> None:
        busy = len(self._open) > len(self._idle) or self._connecting or self._waiters
        if self._retired is not None and not self._retired.done() and not busy:
            self._retired.set_result(None)

    async def _exchange(self, request: bytes, safe: bool, silence: float, total: float) -> UpstreamResponse:
        while True:
            connection = self._take_idle()
            if connection is None:
                connection = await self._acquire()
                if not connection.usable:
                    continue  # It closed before it was used; nothing was sent.
            if self._circuit_breaker.has_failures:
                self._circuit_breaker.reach()
            stale = connection.served > 0
            response = connection.start(request, silence, total)
            try:
                while not response.status:
                    await response.next_event()
                response.raise_fault()
            except ConnectionLost:
                if safe and stale and not self._closed:
                    continue  # Each attempt uses up one old connection, so this ends.
                raise
            except asyncio.CancelledError:
                response.close()
                raise
            return response

    def _take_idle(self) -> HttpConnection | None:
        while self._idle:
            connection = self._idle.pop()
            kept = self.limits.idle
            if connection.keep_alive_for is not None:
                kept = min(kept, connection.keep_alive_for - 1)
            if connection.usable and connection.loop.time() - connection.idle_since < kept:
                return connection
            connection.abort(ConnectionLost(self.name, "idle for too long", sent=False))
        return None

    async def _acquire(self) -> HttpConnection:
        if self._closed:
            raise Unreachable(self.name, "the gateway is stopping", sent=False)
        if len(self._open) + self._connecting < self.limits.connections:
            return await self._connect()
        if len(self._waiters) >= self.limits.waiting:
            raise PoolExhausted(self.name, f"{self.limits.waiting} calls are already waiting", sent=False)
        return await self._queue() or await self._connect(reserved=True)

    async def _queue(self) -> HttpConnection | None:
        """Wait for a connection, or for room to make one (None, with the room reserved)."""
        waiter: asyncio.Future[HttpConnection | None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout(self.limits.silence):
                return await waiter
        except BaseException as error:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._give_back(waiter.result())
            elif waiter in self._waiters:
                self._waiters.remove(waiter)
            if isinstance(error, TimeoutError):
                raise PoolExhausted(self.name, "no connection became free in time", sent=False) from None
            raise

    def _give_back(self, connection: HttpConnection | None) -> None:
        if connection is not None:
            self._on_free(connection)
        else:
            self._connecting -= 1
            self._offer_room()

    async def _connect(self, *, reserved: bool = False) -> HttpConnection:
        self._connecting += not reserved
        loop = asyncio.get_running_loop()
        connection = HttpConnection(self.name, loop, self._on_free, self._on_closed, self._known_heads)
        try:
            async with asyncio.timeout(self.limits.connect):
                await loop.create_connection(
                    lambda: connection, self.target.host, self.target.port, ssl=self.target.tls,
                    server_hostname=self.target.host if self.target.tls else None,
                )  # fmt: skip
        except TimeoutError:
            detail = f"no connection within {self.limits.connect:g} s"
            raise TimedOut(self.name, detail, sent=False, advice=self._unreachable_advice()) from None
        except OSError as error:  # includes certificate errors
            detail = f"no connection ({_safe_reason(error)})"
            raise Unreachable(self.name, detail, sent=False, advice=self._unreachable_advice()) from None
        else:
            self._open.add(connection)
            self._start_timer()
        finally:
            self._connecting -= 1
            if connection not in self._open:
                self._offer_room()
        return connection

    def _unreachable_advice(self) -> str:
        place = setting_of(self.name)
        return f"Nothing answers at {self.target.loggable}: start the server, or correct the address at `{place}`"

    def _on_free(self, connection: HttpConnection) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(connection)
                return
        self._idle.append(connection)
        if self._retired is not None:
            self._finish_retirement()

    def _on_closed(self, connection: HttpConnection) -> None:
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
        self._offer_room()
        self._finish_retirement()

    def _offer_room(self) -> None:
        while self._waiters and len(self._open) + self._connecting < self.limits.connections:
            waiter = self._waiters.popleft()
            if not waiter.done():
                self._connecting += 1
                waiter.set_result(None)

    def _start_timer(self) -> None:
        """One coarse timer for all connections: cheaper than one per request, and precise to a quarter."""
        if self._timer is None and not self._closed:
            tick = max(0.005, min(self.limits.silence / 4, self.limits.idle, 1.0))
            self._timer = asyncio.get_running_loop().call_later(tick, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for connection in list(self._open):
            connection.check_time(now)
        while self._idle and now - self._idle[0].idle_since >= self.limits.idle:
            self._idle[0].abort(ConnectionLost(self.name, "idle for too long", sent=False))
        if self._open:
            self._start_timer()


def _safe_reason(error: OSError) -> str:
    """The system's error text without addresses: a caller must not learn where an upstream is."""
    return error.strerror.split(": ")[-1] if error.strerror and ":" in error.strerror else type(error).__name__
