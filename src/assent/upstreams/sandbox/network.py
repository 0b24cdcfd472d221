"""The only way out of a box: a name server that knows the granted names, and a forwarder to them.

Every granted name gets an address of its own in the box's private network. A program that connects to it, in any
way, reaches our forwarder, which resolves the real name outside and passes the bytes on unchanged: TLS stays between
the program and its host. Everything else has no route.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from struct import pack, unpack_from
from typing import cast

from assent.rules.guards.lookups import resolve_host
from assent.upstreams.sandbox.grants import Attempt, HostRule

_FIRST = int(ipaddress.IPv4Address("127.64.0.1"))
_MOST_NAMES = 10_000
_MOST_CONNECTIONS = 256
_CONNECT_WITHIN = 10.0
_A, _NO_ERROR, _NO_SUCH_NAME = 1, 0x8180, 0x8183


class PrivateNetwork(asyncio.DatagramProtocol):
    """The name server and the forwarder of one box."""

    def __init__(self, rules: Iterable[HostRule], on_attempt: Callable[[Attempt], None]) -> None:
        self._rules, self._on_attempt = tuple(rules), on_attempt
        self._addresses: dict[str, str] = {}
        self._hosts: dict[str, str] = {}
        self._servers: list[asyncio.AbstractServer] = []
        self._transport: asyncio.DatagramTransport | None = None
        self._open = 0

    async def start(self, names: socket.socket, listeners: Iterable[socket.socket]) -> None:
        loop = asyncio.get_running_loop()
        await loop.create_datagram_endpoint(lambda: self, sock=names)
        self._servers = [await asyncio.start_server(self._forward, sock=one) for one in listeners]

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
        for server in self._servers:
            server.close()

    # The name server.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        name = asked_name(data)
        if name is None or self._transport is None:
            return
        end = 12 + len(name) + 2
        kind = unpack_from("!H", data, end)[0]
        address = self._address_of(name)
        self._on_attempt(Attempt("network", name))
        answers = b""
        if address is not None and kind == _A:
            answers = pack("!HHHIH4s", 0xC00C, _A, 1, 60, 4, socket.inet_aton(address))
        flags = _NO_SUCH_NAME if address is None else _NO_ERROR
        head = data[:2] + pack("!HHHHH", flags, 1, 1 if answers else 0, 0, 0)
        self._transport.sendto(head + data[12 : end + 4] + answers, addr)

    def _address_of(self, name: str) -> str | None:
        """The box's own address for a granted name; None for any other name."""
        if not any(rule.allows(name) for rule in self._rules):
            return None
        if name not in self._addresses and len(self._addresses) < _MOST_NAMES:
            address = str(ipaddress.IPv4Address(_FIRST + len(self._addresses)))
            self._addresses[name], self._hosts[address] = address, name
        return self._addresses.get(name)

    # The forwarder.

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address, port = writer.get_extra_info("sockname")[:2]
        host = self._hosts.get(address, address)
        self._open += 1
        try:
            if self._open <= _MOST_CONNECTIONS and any(rule.allows(host, port) for rule in self._rules):
                await self._connect(host, port, reader, writer)
        except (OSError, TimeoutError):
            pass
        finally:
            self._open -= 1
            writer.close()

    async def _connect(self, host: str, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for address in await resolve_host(host):
            if address != host and ipaddress.ip_address(address).is_link_local:
                continue  # Whoever controls a name does not get the cloud's metadata by it.
            async with asyncio.timeout(_CONNECT_WITHIN):
                outside, sending = await asyncio.open_connection(address, port)
            try:
                await asyncio.gather(_pass_on(reader, sending), _pass_on(outside, writer))
            finally:
                sending.close()
            return


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


def asked_name(packet: bytes) -> str | None:
    """The name that a question to a name server asks for; None if the packet is not one question."""
    if len(packet) < 17 or packet[2] & 0xF8 or packet[4:6] != b"\0\1" or packet[6:10] != b"\0\0\0\0":
        return None
    labels, place = [], 12
    while (length := packet[place]) != 0:
        label = packet[place + 1 : place + 1 + length]
        place += 1 + length
        if length > 63 or place >= len(packet) - 4 or not all(0x20 < byte < 0x7F for byte in label):
            return None
        labels.append(label.decode("ascii").lower())
    return ".".join(labels) or None
