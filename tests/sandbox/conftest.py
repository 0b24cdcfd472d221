"""What the tests of the sandbox share: a machine that can confine, and the world outside the boxes."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from assent.config.load import load_settings
from assent.contract.yaml_document import write_yaml
from assent.gateway.app import GatewayApp, open_gateway
from assent.gateway.status_pages import StatusPages
from assent.upstreams.sandbox.support import findings
from support.clients.transports import ROOT, connect
from support.servers.loopback_server import serving

TWIN = str(ROOT / "tests" / "support" / "servers" / "malicious_twin.py")
SECRET = "a-secret-that-nobody-may-read"


@pytest.fixture(scope="session")
def can_confine() -> None:
    """Skip where the kernel lacks what a box needs, with the reason."""
    if missing := [one for one in findings() if one.missing]:
        pytest.skip(f"this machine cannot confine: {missing[0].what}: {missing[0].missing}")


class World:
    """The world outside the boxes, which must look the same afterwards."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home, self.granted, self.out = folder / "home", folder / "granted", folder / "out"
        self.outside = folder / "outside"
        self.heard: list[str] = []
        for one in (self.home, self.granted, self.out, self.outside):
            one.mkdir()
        (self.home / ".ssh").mkdir()
        for file in (self.home / ".ssh" / "id_ed25519", self.outside / "secret"):
            file.write_text(SECRET)
        for file in (self.granted / "note", self.out / "note"):
            file.write_text("a note")
        (self.granted / "way-out").symlink_to(self.outside)
        self.temporary = Path(f"/tmp/assent-{os.getpid()}-secret")
        self._servers: list[asyncio.AbstractServer] = []

    async def listen(self) -> None:
        tcp = await asyncio.start_server(self._hear, "0.0.0.0", 0)
        self.tcp = tcp.sockets[0].getsockname()[1]
        self.abstract = f"assent-{os.getpid()}-{id(self)}"
        short = Path(f"/tmp/assent-{os.getpid()}-{id(self) & 0xFFFF}.sock")
        self.unix = str(short)
        self._servers = [tcp, await asyncio.start_unix_server(self._hear, self.unix)]
        self._servers.append(await asyncio.start_unix_server(self._hear, "\0" + self.abstract))
        here = os.open(self.granted, os.O_RDONLY)  # The path of a socket may not be longer than 107 characters.
        self._servers.append(await asyncio.start_unix_server(self._hear, f"/proc/self/fd/{here}/socket"))
        os.close(here)
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("0.0.0.0", 0))
        udp.setblocking(False)
        self.udp, self._udp = udp.getsockname()[1], udp
        self.temporary.write_text(SECRET)

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heard.append("connection")
        writer.close()

    def datagrams(self) -> int:
        count = 0
        while True:
            try:
                self._udp.recv(100)
                count += 1
            except BlockingIOError:
                return count

    def close(self) -> None:
        for server in self._servers:
            server.close()
        self._udp.close()
        for file in (self.temporary, Path(self.unix)):
            file.unlink(missing_ok=True)

    @property
    def places(self) -> dict[str, Any]:
        return {
            "home": str(self.home), "granted": str(self.granted), "out": str(self.out), "outside": str(self.outside),
            "gateway": os.getpid(), "tcp": self.tcp, "udp": self.udp, "unix": self.unix, "abstract": self.abstract,
            "temporary": str(self.temporary), "address": _address(),
        }  # fmt: skip

    def snapshot(self) -> dict[str, object]:
        """Every file of the world with its contents, mode and time."""
        found: dict[str, object] = {}
        for path in sorted(self.folder.rglob("*")):
            state = path.lstat()
            text = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            found[str(path)] = (state.st_mode, text, state.st_mtime_ns if path.is_file() else 0, state.st_nlink)
        return found


def _address() -> str:
    """An address of this machine that is not the loopback one, where there is one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect(("192.0.2.1", 9))
            return str(one.getsockname()[0])
        except OSError:
            return "127.0.0.2"


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    made = World(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setenv("ASSENT_TEST_SECRET", SECRET)
    await made.listen()
    yield made
    made.close()


@asynccontextmanager
async def gateway(folder: Path, upstreams: dict[str, Any], **more: Any) -> AsyncIterator[tuple[GatewayApp, Any]]:
    """A gateway with these upstreams, and a client of it."""
    place = folder.parent / f"{folder.name}-gateway"
    place.mkdir(exist_ok=True)
    settings = {"upstreams": upstreams, "auth": {"anonymous": {"kind": "agent", "scopes": ["*"]}}, **more}
    (place / "assent.yaml").write_text(write_yaml(settings))
    gateway_app = await open_gateway(load_settings(place / "assent.yaml"))
    await gateway_app.start()
    try:
        async with serving(gateway_app.app(StatusPages(gateway_app))) as url, connect(url, "legacy", None) as client:
            yield gateway_app, client
    finally:
        await gateway_app.stop()


def twin(name: str, *tools: str) -> list[str]:
    return [sys.executable, TWIN, name, *tools]
