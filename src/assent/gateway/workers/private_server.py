"""The private socket of a worker: only processes of the same user may connect, and it is opened again if it is lost."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import stat
import struct
from contextlib import suppress
from pathlib import Path

import uvicorn

from assent.web.asgi import App
from assent.web.server import BoundedProtocol, make_server

logger = logging.getLogger(__name__)

LOOK_EVERY = 1.0
"""Seconds between two looks whether the socket is still in its folder."""
_SENDER = struct.Struct("3i")
"""The process, user and group of the other end."""


def is_same_user(transport: asyncio.BaseTransport) -> bool:
    """Whether the other end of a Unix socket belongs to the user of this process.

    Systems without SO_PEERCRED rely on the mode of the folder alone.
    """
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    peer = transport.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, option, _SENDER.size)
    return bool(_SENDER.unpack(peer)[1] == os.geteuid())


def open_private_socket(place: Path) -> socket.socket:
    """A listening socket in a folder that only this user can enter. A missing folder is made again.

    Raises OSError if the folder belongs to somebody else or cannot be made.
    """
    with suppress(FileExistsError):
        place.parent.mkdir(mode=0o700)
    folder = place.parent.lstat()
    if not stat.S_ISDIR(folder.st_mode) or folder.st_uid != os.geteuid() or folder.st_mode & 0o077:
        raise PermissionError(f"{place.parent} is not a folder that only this user can enter")
    place.unlink(missing_ok=True)
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        opened.bind(str(place))
        place.chmod(0o600)
        opened.listen(2048)
        opened.setblocking(False)
    except OSError:
        opened.close()
        raise
    return opened


class SameUserProtocol(BoundedProtocol):
    """Ends connections of other users before a request is read."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if not is_same_user(transport):
            logger.error("another user of this machine tried to connect to a worker's own socket and was refused")
            transport.abort()


class PrivateServer:
    """Answers what other workers pass on."""

    def __init__(self, app: App, place: Path) -> None:
        self._app, self._place = app, place
        self._identity: tuple[int, int] | None = None
        self._server: uvicorn.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._lost = False

    async def open(self) -> None:
        """Opens the socket and answers on it; raises OSError if it cannot be opened."""
        listener = open_private_socket(self._place)
        self._identity = _identity(self._place)
        if self._server is not None:
            self._server.should_exit = True  # It finishes what it has.
        self._server = make_server(self._app, http=SameUserProtocol, lifespan="off", interface="asgi3")
        task = asyncio.create_task(self._server._serve([listener]))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        while not self._server.started and not task.done():  # noqa: ASYNC110 (uvicorn has no event for this)
            await asyncio.sleep(0.005)
        if task.done():
            task.result()

    async def keep(self) -> None:
        """Opens the socket again whenever it is no longer in its folder, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            if _identity(self._place) != self._identity:
                await self._reopen()

    async def _reopen(self) -> None:
        try:
            await self.open()
        except OSError as error:
            if not self._lost:
                logger.error(
                    "%s was removed and cannot be made again: %s. Requests for sessions of this worker that reach "
                    "another one are refused. Remove what is in the way, or restart `assent serve`",
                    self._place, error,
                )  # fmt: skip
            self._lost = True
        else:
            logger.warning("%s was removed by somebody and was made again", self._place)
            self._lost = False

    async def close(self) -> None:
        """Finishes what runs."""
        if self._server is not None:
            self._server.should_exit = True
        await asyncio.gather(*self._serving, return_exceptions=True)


def _identity(place: Path) -> tuple[int, int] | None:
    try:
        found = place.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
