"""The engine: takes doors of one user, wraps their servers on one store, answers requests, and ends when idle."""

from __future__ import annotations

import asyncio
import contextvars
import errno
import json
import logging
import os
import select
import socket
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from assent.config.model import Settings
from assent.config.rules import flow_control
from assent.core.approval import Approval
from assent.errors import AssentError, FaultsError
from assent.gateway.app import GatewayApp
from assent.gateway.engine import desktop, wire
from assent.gateway.engine.find_or_start import peer_of, rights_of
from assent.gateway.engine.requests import handler_of
from assent.gateway.runtime import Surroundings
from assent.gateway.stdio.streams import StandardStreams
from assent.gateway.stdio.wrapped_server import WrapClient, WrapRequest, serve_wrapped, wrapping
from assent.ports import Store
from assent.stores.open import open_store
from assent.upstreams.stdio.link import StdioLink

logger = logging.getLogger(__name__)

IDLE = 3600.0
"""How long an engine without servers, requests and pages waits before it ends: as long as flow control remembers a
caller that names no conversation."""
MOST_SERVERS = 100
MOST_CONNECTIONS = 256
_GREETS_WITHIN = 10.0
_LOOKS_EVERY = 5.0
_SO_PEERPIDFD = 77
_CONFINED = (
    "this process is confined more than the engine (privileges, system calls, groups or namespaces), so the engine does"
    " not answer it. Run it outside its sandbox"
)

tell_door: contextvars.ContextVar[Callable[[str], None] | None] = contextvars.ContextVar("tell_door", default=None)
"""Where lines go that are written while a door's server is served: to that door's client and no other."""


@dataclass(eq=False)
class WrappedServer:
    """One server that the engine runs for a door."""

    name: str
    program: str
    folder: str
    door: int
    since: float = field(default_factory=time.time)
    child: int = 0
    app: GatewayApp | None = None
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def calls(self) -> int:
        return sum(self.app.runtime.tally.calls.values()) if self.app is not None else 0


class Engine:
    """One engine. Every door's server has a gateway of its own; all of them share the store and flow control."""

    def __init__(self, identity: bytes, *, still_there: Callable[[], bool] = lambda: True) -> None:
        """`still_there` says whether doors can still find this engine."""
        self.since, self.console, self.console_store = time.time(), "", ""
        self.wrapped: list[WrappedServer] = []
        self._identity, self._still_there = identity, still_there
        self._stores: dict[tuple[str, str], tuple[Store, Any]] = {}
        self._opening = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections = 0
        self._ending, self._reason, self._is_newer_here = asyncio.Event(), "", False
        self.used_until = time.monotonic() + IDLE
        self.at_end: list[Callable[[], Coroutine[Any, Any, None]]] = []
        """What features close when the engine ends."""

    # Life

    async def run(self, listener: socket.socket) -> None:
        """Serve doors until idle, replaced or told to end."""
        listener.setblocking(False)
        accepting = asyncio.create_task(self._accept(listener))
        try:
            await self._until_end()
        finally:
            accepting.cancel()
            listener.close()
            await self._finish()

    async def _until_end(self) -> None:
        while not self._ending.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOKS_EVERY):
                    await self._ending.wait()
            if self.is_idle and not self._tasks and (self._is_newer_here or not self._still_there()):
                return
            if self.is_idle and time.monotonic() > self.used_until:
                return

    @property
    def is_idle(self) -> bool:
        return not self.wrapped

    def keep(self, seconds: float = IDLE) -> None:
        """Do not end for this long."""
        self.used_until = max(self.used_until, time.monotonic() + seconds)

    def end(self, reason: str) -> None:
        """End soon; every server is stopped, and its client reads the reason."""
        self._reason = self._reason or reason
        for one in self.wrapped:
            one.stop.set()
        self._ending.set()

    async def _finish(self) -> None:
        for one in self.wrapped:
            one.stop.set()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=15.0)
        for close in self.at_end:
            await close()
        for store, _ in self._stores.values():
            await store.close()

    # Doors

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(listener)
            except OSError as error:  # No descriptor is left: doors wait in the queue of the socket.
                logger.warning("a door cannot be taken: %s", error.strerror)
                await asyncio.sleep(0.1)
                continue
            user, process = peer_of(connection)
            if user != os.geteuid() or self._connections >= MOST_CONNECTIONS:
                logger.warning("a connection of user %d was closed", user)
                connection.close()
                continue
            self._connections += 1
            task = asyncio.create_task(self._meet(Door(connection, process)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _meet(self, door: Door) -> None:
        try:
            async with asyncio.timeout(_GREETS_WITHIN):
                purpose = await self._greet(door)
                kind, body = await door.next() if purpose else (b"", b"")
            if kind == wire.WRAP and purpose == b"wrap":
                await self._wrap(door, body)
            elif kind == wire.ASK and purpose == b"ask":
                await self._answer(door, body)
        except (wire.BadFrame, TimeoutError, OSError, ValueError) as error:
            logger.warning("a door was closed: %s", type(error).__name__)
        except Exception:
            logger.exception("a door failed")
        finally:
            door.close()
            self._connections -= 1

    async def _greet(self, door: Door) -> bytes:
        """What the door wants; empty if it cannot have it here."""
        kind, body = await door.next()
        fields = wire.split(body) if kind == wire.HELLO else []
        if len(fields) < 5 or fields[0] != wire.MAGIC:
            raise wire.BadFrame("not a door of Assent")
        _, protocol, version, identity, purpose = fields[:5]
        newer = version_key(version.decode()) > version_key(wire.VERSION)
        self._is_newer_here = self._is_newer_here or newer
        if newer and self.is_idle:
            self._ending.set()
            return await door.send(wire.REPLACED)
        if int(protocol) != wire.PROTOCOL:
            remedy = "Close the clients that use it" if newer else "Upgrade this one"
            sentence = (
                f"this is Assent {version.decode()}, which cannot talk to the engine that runs, {wire.VERSION}."
                f" {remedy}, or run `assent engine stop` of that version, or set `engine: off`"
            )
            return await door.send(wire.REFUSED, sentence)
        if identity != self._identity:
            return await door.send(wire.ELSEWHERE, "the engine belongs to another configuration")
        if self._ending.is_set():
            return b""  # The door starts another engine.
        return purpose

    async def _answer(self, door: Door, body: bytes) -> None:
        if _is_confined(door):
            await door.send(wire.REFUSED, _CONFINED)
            return
        request = json.loads(body)  # Variables of a client may have bytes that are not UTF-8.
        self.keep()
        await door.send(wire.ACCEPTED)
        try:
            answer = await handler_of(request.get("kind"))(self, request)
        except AssentError as error:
            await door.send(wire.REFUSED, "; ".join(_sentences(error)))
            return
        await door.send(wire.ANSWER, orjson.dumps(answer))

    # Servers

    async def _wrap(self, door: Door, body: bytes) -> None:
        request = read_wrap(body)
        streams = door.take_streams()
        if streams is None:
            raise wire.BadFrame("no streams")
        if len(self.wrapped) >= MOST_SERVERS:
            for one in streams:
                os.close(one)
            await door.send(wire.REFUSED, f"the engine runs {MOST_SERVERS} servers already. Close some clients")
            return
        passed = StandardStreams(streams)
        tell_door.set(passed.tell)
        served = WrappedServer("", request.command[0], request.folder or "", door.process)
        self.wrapped.append(served)
        try:
            settings = await self._settings(request, door)
            if settings is None:
                return
            served.name = next(iter(settings.upstreams))
            watching = asyncio.create_task(door.watch(served.stop))
            try:
                code = await self._serve(request, settings, served, door, passed)
            finally:
                watching.cancel()
            if self._reason:
                passed.tell(f"assent wrap: {served.name} was closed: {self._reason}")
            await passed.close()
            await door.send(wire.ENDED, b"%d" % code)
        finally:
            self.wrapped.remove(served)
            self.keep()
            with suppress(OSError):
                await passed.close(0.0)

    async def _settings(self, request: WrapRequest, door: Door) -> Settings | None:
        """The settings for this door; None if it cannot be served, and knows it."""
        if _is_confined(door):
            await door.send(wire.ELSEWHERE, "this client is confined, so its server stays inside and runs alone")
            return None
        try:
            settings = await asyncio.to_thread(wrapping, request)
        except AssentError:  # The door says it itself, with the same words as without an engine.
            await door.send(wire.ELSEWHERE)
            return None
        if settings.engine == "off":
            await door.send(wire.ELSEWHERE)
            return None
        await door.send(wire.ACCEPTED)
        return settings

    async def _serve(
        self, request: WrapRequest, settings: Settings, served: WrappedServer, door: Door, streams: StandardStreams
    ) -> int:
        def on_start(app: GatewayApp, link: StdioLink) -> None:
            served.app, served.child = app, link.upstream.pid
            door.send_now(wire.CHILD, b"%d" % served.child)

        def on_waiting(approval: Approval, command: str | None) -> None:
            desktop.announce(approval, command, request.environment, streams.tell)

        client = WrapClient(lambda: streams, streams.tell, served.stop, on_waiting, on_start)
        try:
            around = await self.surroundings(settings, request.environment, request.umask)
            return await serve_wrapped(request, client, settings, around)
        except AssentError as error:
            for sentence in _sentences(error):
                streams.tell(f"error: {sentence}")
            return 2

    async def surroundings(self, settings: Settings, environment: Mapping[str, str], umask: int = -1) -> Surroundings:
        """The store and the flow control that all servers, hooks and pages on this store share, for one client.

        They stay open until the engine ends.
        """
        key = (settings.store, settings.secrets.directory)
        async with self._opening:
            if key not in self._stores:
                Path(settings.secrets.directory).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._stores[key] = await open_store(settings.store), None
            store, flow = self._stores[key]
            if flow is None and (flow := flow_control(settings)) is not None:
                self._stores[key] = store, flow
        where = settings.store
        return Surroundings(
            store, flow, environment, umask, lambda: self.console if self.console_store == where else ""
        )


class Door:
    """The connection of one door: its frames, and the standard streams that it passes on."""

    def __init__(self, connection: socket.socket, process: int) -> None:
        connection.setblocking(False)
        self.process = process
        self._connection, self._frames, self._streams = connection, wire.Frames(), list[int]()
        self._ready: asyncio.Queue[tuple[bytes, bytes] | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(connection, self._receive_frames)

    def _receive_frames(self) -> None:
        flags = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
        try:
            data, streams, _, _ = socket.recv_fds(self._connection, 65536, 3, flags)
        except BlockingIOError:
            return
        except OSError:
            data, streams = b"", []
        for one in streams:
            os.set_inheritable(one, False)
        self._streams += streams
        try:
            if len(self._streams) > 3:
                raise wire.BadFrame("too many streams")
            for found in self._frames.feed(data):
                self._ready.put_nowait(found)
        except wire.BadFrame:
            data = b""
        if not data or self._ready.qsize() > 16:
            self._loop.remove_reader(self._connection)
            self._ready.put_nowait(None)

    async def next(self) -> tuple[bytes, bytes]:
        """The next frame; an empty kind at the end."""
        return await self._ready.get() or (b"", b"")

    def has_ended(self) -> bool:
        """Whether the process that connected is gone; False where the kernel does not say."""
        try:
            peer = self._connection.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD)
        except OSError as error:
            return error.errno != errno.ENOPROTOOPT
        try:
            waiting = select.poll()
            waiting.register(peer, select.POLLIN)
            return bool(waiting.poll(0))
        finally:
            os.close(peer)

    def take_streams(self) -> tuple[int, int, int] | None:
        """Standard input, output and error of the client, which are the engine's from now on."""
        if len(self._streams) != 3:
            return None
        first, second, third = self._streams
        self._streams = []
        return first, second, third

    async def watch(self, stop: asyncio.Event) -> None:
        """Stop the server when the door passes on a signal or is gone."""
        await self.next()
        stop.set()

    async def send(self, kind: bytes, body: bytes | str = b"") -> bytes:
        """Send a frame. A door that does not read is closed."""
        encoded = body.encode() if isinstance(body, str) else body
        async with asyncio.timeout(_GREETS_WITHIN):
            with suppress(ConnectionError):
                await self._loop.sock_sendall(self._connection, wire.frame(kind, encoded))
        return b""

    def send_now(self, kind: bytes, body: bytes) -> None:
        """Send a small frame; the queue of the socket has room for it, or the door is gone."""
        with suppress(OSError):
            self._connection.send(wire.frame(kind, body))

    def close(self) -> None:
        self._loop.remove_reader(self._connection)
        self._connection.close()
        for one in self._streams:
            os.close(one)
        self._streams = []


def read_wrap(body: bytes) -> WrapRequest:
    """The server that a door wants wrapped. Raises BadFrame if the body is not one."""
    folder, mask, config, within, sandbox, *rest = map(os.fsdecode, wire.split(body))
    lists: list[tuple[str, ...]] = []
    for _ in range(5):
        count, rest = int(rest[0]), rest[1:]
        lists.append(tuple(rest[:count]))
        rest = rest[count:]
    command, read, write, host, environment = lists
    if not command or rest:
        raise wire.BadFrame("not a server to wrap")
    chosen = {"mode": sandbox, "read": read, "write": write, "hosts": host} if sandbox else None
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    return WrapRequest(
        command,
        Path(config) if config else None,
        int(within[:-1]) * units[within[-1]],
        chosen,
        folder,
        dict(one.split("=", 1) for one in environment),
        int(mask),
    )


def version_key(version: str) -> tuple[int, ...]:
    """The numbers of a version, to compare two."""
    return tuple(int("".join(sign for sign in part if sign.isdecimal()) or 0) for part in version.split(".")[:3])


def _is_confined(door: Door) -> bool:
    """Whether a peer lacks a right of this process, or has ended and cannot be looked at.

    Through the engine it would get that right: for a server of its own, or for the console and the user's words.
    """
    mine = rights_of("self")
    return bool(mine) and (not mine <= rights_of(door.process) or door.has_ended())


def _sentences(error: AssentError) -> list[str]:
    return [str(one) for one in (error.faults if isinstance(error, FaultsError) else (error,))]
