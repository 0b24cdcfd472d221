"""What `assent serve` checks before it starts, and what it tells its workers."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import socket
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from assent.config.checks import check_bind, has_stored_keys
from assent.config.load import find_settings
from assent.config.model import Settings
from assent.errors import Fault, SettingsError
from assent.web.server import bind

SPREADS = sys.platform == "linux"
"""Whether the system spreads the connections to one port evenly over the processes that share it."""
_LONGEST_FOLDER = 90
"""Bytes. The name of a Unix socket has at most 103 on some systems."""
_FIXED = ("store", "secrets", "public_url")


@dataclass(frozen=True)
class WorkerOrder:
    """What a supervisor tells a worker."""

    config: str | None
    host: str
    port: int
    listener: int
    """The descriptor of the supervisor's socket."""
    index: int
    workers: int
    directory: str
    """Where every worker has its own socket."""
    fixed: str
    """The settings that all workers must share, as they were when the supervisor started."""
    log_format: str
    log_level: str

    def encode(self) -> bytes:
        """One line."""
        return json.dumps(asdict(self)).encode() + b"\n"


def load(config: Path | None, host: str) -> Settings:
    """The settings, which may be served at this address."""
    settings = find_settings(config)
    check_bind(settings, host, lambda: asyncio.run(has_stored_keys(settings)))
    if not settings.upstreams:
        raise SettingsError(Fault("no upstream is configured", "`assent add` adds a server", "upstreams"))
    return settings


def listen(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """The listening socket; raises SettingsError if the address cannot be used."""
    try:
        return bind(host, port, shared=shared)
    except OSError as error:
        raise SettingsError(Fault(f"{host}:{port} cannot be used: {error.strerror}", "Choose another --port")) from None


def reserve(host: str, port: int) -> socket.socket:
    """A socket that keeps the port for the workers; the port must be free, so no second gateway shares it unnoticed."""
    listener = listen(host, port)
    if not SPREADS:
        return listener
    with listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        kept = bind(host, listener.getsockname()[1], shared=True, accepts=False)
    # Without this, anybody on the machine could listen on the port while no worker does.
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
    return kept


def make_socket_folder() -> Path:
    """A new folder for the sockets of the workers, which only this user can enter."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="assent-"))
    except OSError as error:
        why = f"there is no place for the sockets of the workers: {error.strerror}"
        raise SettingsError(Fault(why, "Set TMPDIR to a folder in which this user can write")) from None
    if len(os.fsencode(folder)) > _LONGEST_FOLDER:
        folder.rmdir()
        raise SettingsError(Fault(f"{folder} is too long for the name of a socket", "Set TMPDIR to a shorter path"))
    return folder


def own_listener(order: WorkerOrder) -> socket.socket:
    """The socket on which a worker accepts connections: its own, or the supervisor's where systems do not spread."""
    if SPREADS:
        return listen(order.host, order.port, shared=True)
    return socket.socket(fileno=order.listener)


def fixed_settings(settings: Settings) -> str:
    """The settings that all workers must share, in a form that holds no secret."""
    shared = json.dumps([str(getattr(settings, name)) for name in _FIXED])
    return hashlib.sha256(shared.encode()).hexdigest()


def check_workers(settings: Settings, workers: int) -> None:
    """Refuses settings that several processes cannot share."""
    if workers == 1:
        return
    if sys.platform == "win32":
        raise SettingsError(Fault("--workers needs a Unix system", "Run one worker, or several replicas"))
    if settings.store.startswith("memory:"):
        remedy = "Use sqlite:///assent.db, or postgresql:// for several machines"
        raise SettingsError(Fault("several workers cannot share a store in memory", remedy, "store"))
    for name, upstream in settings.upstreams.items():
        if upstream.command:
            message = "each worker would start its own copy of this command, with its own state"
            remedy = "Serve it over HTTP and name its `url`, or run one worker"
            raise SettingsError(Fault(message, remedy, f"upstreams.{name}.command"))
