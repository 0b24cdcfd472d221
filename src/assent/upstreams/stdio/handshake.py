"""Finds the protocol era of a stdio server, and gets its description of itself (ADR 0043)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from assent.mcp.jsonrpc import RpcError
from assent.mcp.server_identity import Described, described_by, described_by_discovery, initialize_params
from assent.upstreams.errors import ProtocolViolation, TimedOut

if TYPE_CHECKING:
    from assent.upstreams.stdio.server import StdioUpstream

PROBE = 5.0

Probe = asyncio.Future[dict[str, Any]]
"""The response to our `server/discover`."""


async def negotiate_era(server: StdioUpstream, probing: Probe) -> Described:
    """Wait for the probe; initialize a server that does not understand it or is slow to answer."""
    tasks: list[asyncio.Future[Any]] = [probing]
    try:
        await asyncio.wait(tasks, timeout=min(PROBE, server.patience))
        if probing.done() and (described := described_by_probe(probing)) is not None:
            return described
        tasks.append(initializing := asyncio.ensure_future(_initialize(server)))
        await asyncio.wait(tasks if not probing.done() else [initializing], return_when=asyncio.FIRST_COMPLETED)
        if initializing.done() and initializing.exception() is None:
            return initializing.result()
        await asyncio.wait([probing])
        return described_by_probe(probing) or await initializing
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _initialize(server: StdioUpstream) -> Described:
    result = await server.exchange("initialize", initialize_params(server.capabilities, server.client_info))
    version = result.get("protocolVersion")
    if not isinstance(version, str):
        raise ProtocolViolation(server.name, "the response to initialize has no protocol version", sent=True)
    await server.notify("notifications/initialized")
    described = described_by(version, result.get("serverInfo"), result)
    if server.level is not None and "logging" in described.capabilities:
        with suppress(RpcError):
            await server.exchange("logging/setLevel", {"level": server.level})
    return described


def described_by_probe(probing: Probe) -> Described | None:
    """The description from `server/discover`; None if the server supports only the handshake."""
    if probing.cancelled():
        return None
    error = probing.exception()
    if isinstance(error, RpcError | ProtocolViolation | TimedOut):
        return None
    return described_by_discovery(probing.result())
