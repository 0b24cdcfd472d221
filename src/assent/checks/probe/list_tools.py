"""Lists the tools of a server exactly as the server wrote them.

SDK types drop unknown members, such as misspelled hints, so over a URL or a pipe the raw JSON is kept.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from typing import Any, TextIO

from anyio import BrokenResourceError, ClosedResourceError, EndOfStream
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.shared.message import SessionMessage
from mcp_types import METHOD_NOT_FOUND, ErrorData, JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from assent.contract.decorator import contract_of
from assent.contract.model import Contract
from assent.core.catalogue import Catalogue
from assent.core.question import visible
from assent.errors import AssentError
from assent.library.function_outcome import is_watched
from assent.library.integration import IDENTIFIER
from assent.library.sdk import sdk_tools
from assent.mcp.jsonrpc import RpcError
from assent.upstreams.conditional_tools import CAN_DO_ALL
from assent.upstreams.errors import ProtocolViolation
from assent.upstreams.errors import UpstreamError as UpstreamFault
from assent.upstreams.http.address import BadAddress
from assent.upstreams.http.address import UpstreamAddress as Address
from assent.upstreams.http.circuit_breaker import CircuitBreaker
from assent.upstreams.http.client import HttpUpstream
from assent.upstreams.http.pool import Limits, Pool
from assent.upstreams.http.sse_server import find_older_transport
from assent.upstreams.pagination import all_pages
from assent.upstreams.stdio.process import id_of_truncated_response, id_of_unversioned_response

_ENDED = (BrokenResourceError, ClosedResourceError, EndOfStream, BrokenPipeError)


def reason_of(error: BaseException | None) -> str:
    """The first cause inside exception groups; a closed stream means that the server ended."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if error is None or isinstance(error, _ENDED):
        return "it ended without an answer"
    if isinstance(error, TimeoutError):
        return "it took too long"
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"{error.filename!r} was not found; install it, or give its full path"
    return str(error) or type(error).__name__


_CLIENT = {"name": "assent", "version": "0"}
_CREDENTIALS = "It needs other credentials: give them with --header 'Authorization: Bearer ...'"
_ENDPOINT = "Name the address of its MCP endpoint; it often ends in /mcp"
_MOVED = "Name the address that it redirects to; often only the final slash differs"
_REMEDIES = {
    **dict.fromkeys(("401", "403"), _CREDENTIALS),
    **dict.fromkeys(("200", "404", "405"), _ENDPOINT),
    **dict.fromkeys(("301", "302", "303", "307", "308"), _MOVED),
}
# The SDK logs a traceback for every line that is not a message; one sentence is printed instead.
_SDK_LOGS = (logging.getLogger("mcp.client.stdio"), logging.getLogger("mcp.client.streamable_http"))

Definitions = list[dict[str, Any]]


class ToolListing(list[dict[str, Any]]):
    """The definitions that a server listed, its name, and whether it speaks only the old HTTP+SSE transport."""

    def __init__(self, definitions: Definitions, server: str) -> None:
        super().__init__(definitions)
        self.server = server
        self.speaks_sse = False


class NotListedError(AssentError):
    """A server did not list its tools; the message says why."""


async def listed_at(url: str, headers: Mapping[str, str] | None = None, *, patience: float = 60.0) -> ToolListing:
    """The tools of a server behind a URL, in either era, within one time limit."""
    try:
        pool = Pool("server", Address.of(url, headers), Limits(), CircuitBreaker("server", time.monotonic))
    except BadAddress as error:
        raise NotListedError(str(error)) from None
    try:
        async with asyncio.timeout(patience):
            return await _list_in_either_transport(HttpUpstream(pool, _CLIENT))
    except (UpstreamFault, RpcError, TimeoutError) as error:
        detail = error.detail if isinstance(error, UpstreamFault) else str(error)
        reason = "it took too long" if isinstance(error, TimeoutError) else visible(detail)
        raise NotListedError(f"{url} did not list its tools: {reason}{_remedy(reason)}") from None
    finally:
        await pool.close()


def _remedy(reason: str) -> str:
    if reason.startswith("no connection"):
        return ". Start the server, or correct the address"
    status = reason.removeprefix("answered ")[:3]
    return f". {_REMEDIES[status]}" if reason.startswith("answered ") and status in _REMEDIES else ""


async def _list_in_either_transport(upstream: HttpUpstream) -> ToolListing:
    try:
        return await _list_over_http(upstream)
    except ProtocolViolation as refused:
        older = await find_older_transport(upstream, refused)
        if older is None:
            raise
        listing = await _list_over_http(older)
        listing.speaks_sse = True
        return listing


async def _list_over_http(upstream: HttpUpstream) -> ToolListing:
    described = await upstream.describe()
    return ToolListing(await upstream.list_tools(described, CAN_DO_ALL), _name_in(described.info))


async def listed_by(
    command: Sequence[str],
    *,
    errors: TextIO,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    patience: float = 60.0,
) -> ToolListing:
    """The tools of a server that a command starts on standard input and output."""
    extra = {**os.environ, **env} if env else None
    parameters = StdioServerParameters(
        command=command[0], args=list(command[1:]), env=extra, cwd=cwd, encoding_error_handler="replace"
    )
    noise: list[Exception] = []
    try:
        with mute_sdk_parse_errors():
            async with asyncio.timeout(patience), stdio_client(parameters, errlog=errors) as (reading, writing):
                return await _list_over_stdio(reading, writing, noise)
    except (OSError, TimeoutError, BaseExceptionGroup) as error:
        raise NotListedError(f"{command[0]} did not list its tools: {why_unlisted(error, noise)}") from None
    finally:
        if noise:
            errors.write(
                f"{command[0]}: a line on its standard output is not a message; write logs to standard error\n"
            )


def why_unlisted(error: BaseException, noise: Sequence[Exception]) -> str:
    """The reason why no list came: a server whose answer cannot be read was not slow."""
    unread = isinstance(error, TimeoutError) and bool(noise)
    return "its answer could not be read" if unread else visible(reason_of(error))


@contextmanager
def mute_sdk_parse_errors() -> Iterator[None]:
    """Stops the SDK from logging unreadable lines while the block runs."""
    for log in _SDK_LOGS:
        log.addFilter(_has_no_exception)
    try:
        yield
    finally:
        for log in _SDK_LOGS:
            log.removeFilter(_has_no_exception)


def _has_no_exception(record: logging.LogRecord) -> bool:
    return record.exc_info is None


async def _list_over_stdio(reading: Any, writing: Any, noise: list[Exception]) -> ToolListing:
    """Runs the handshake and reads every page of the list; unreadable lines go into `noise`."""
    numbers = count(1)

    async def request(method: str, params: dict[str, Any]) -> dict[str, Any]:
        number = next(numbers)
        await writing.send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=number, method=method, params=params)))
        while True:
            received = await reading.receive()
            if isinstance(received, Exception):
                noise.append(received)
                if unread_answer(received) == number:
                    raise NotListedError(f"its answer to {method} could not be read")
            message = getattr(received, "message", None)
            if isinstance(message, JSONRPCRequest):
                await writing.send(SessionMessage(_refuse_question(message)))
            if isinstance(message, JSONRPCResponse) and message.id == number:
                return dict(message.result)
            if isinstance(message, JSONRPCError) and message.id == number:
                raise NotListedError(f"the server refused {method}: {message.error.message}")

    hello = {"protocolVersion": LATEST_HANDSHAKE_VERSION, "capabilities": CAN_DO_ALL, "clientInfo": _CLIENT}
    server = _name_in((await request("initialize", hello)).get("serverInfo"))
    await writing.send(SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")))
    try:
        return ToolListing(await all_pages("server", "tools/list", "tools", partial(request, "tools/list")), server)
    except UpstreamFault as error:
        raise NotListedError(error.detail) from None


def _refuse_question(question: JSONRPCRequest) -> JSONRPCError:
    """The answer to a question of the server, for example for its client's roots."""
    error = ErrorData(code=METHOD_NOT_FOUND, message="the client cannot be asked")
    return JSONRPCError(jsonrpc="2.0", id=question.id, error=error)


def unread_answer(unread: Exception) -> int | str | None:
    """The id of an answer that the SDK could not read, or None if it is not an answer."""
    given = unread.errors()[0]["input"] if isinstance(unread, ValidationError) else None
    return (
        id_of_truncated_response(given.encode(errors="replace"))
        if isinstance(given, str)
        else id_of_unversioned_response(given)
    )


def _name_in(info: Any) -> str:
    return str(info.get("name") or "") if isinstance(info, Mapping) else ""


async def listed_in(server: Any) -> Definitions:
    """The tools of a server object, listed in memory; raises NotListedError if the object is not a server."""
    sdk = sdk_server(server)
    try:
        async with Client(sdk) as client:
            return await _pages(client)
    except Exception as error:
        # An exception of the user's server is the user's to correct, not a defect of this program.
        raise NotListedError(f"the server did not list its tools: {visible(reason_of(error))}") from error


async def _pages(client: Client) -> Definitions:
    async def ask(page: dict[str, Any]) -> dict[str, Any]:
        result = await client.list_tools(cursor=page.get("cursor"))
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)

    try:
        return await all_pages("server", "tools/list", "tools", ask)
    except UpstreamFault as error:
        raise NotListedError(error.detail) from None


def sdk_server(server: Any) -> MCPServer[Any] | Server[Any]:
    """A server object of the official SDK, or the one inside a FastMCP server."""
    if isinstance(server, MCPServer | Server):
        return server
    inner = getattr(server, "_mcp_server", None)
    if not isinstance(inner, Server):
        kind = type(server).__name__
        raise NotListedError(f"expected a server object of the official SDK or of FastMCP, not one of type {kind}")
    return inner


def _registered_functions(server: Any) -> list[Any]:
    """The tool functions that a server has registered; empty for an unknown kind of server."""
    if isinstance(server, MCPServer):
        return list(sdk_tools(server))
    fastmcp = sys.modules.get("fastmcp")  # An object of this type exists only if the module is imported.
    if fastmcp is None or not isinstance(server, fastmcp.FastMCP):
        return []
    from assent.library.fastmcp import own_functions

    return list(own_functions(server))


def registered_in(server: Any) -> Definitions:
    """The registered tools of a server, including those that it does not list."""
    return [
        {"name": tool.name, "description": tool.description, "inputSchema": tool.parameters}
        for tool in _registered_functions(server)
    ]


def own_hints_in(server: Any) -> dict[str, dict[str, Any]]:
    """The annotations that the author wrote on the tools, without those derived from a contract."""
    return {
        tool.name: tool.annotations.model_dump(mode="json", by_alias=True, exclude_none=True)
        for tool in _registered_functions(server)
        if tool.annotations is not None and not is_watched(tool.fn)
    }


def withheld_in(server: Any) -> Mapping[str, str]:
    """The tools that a governed server withholds, each with the reason; list its tools first."""
    extensions = getattr(server, "_extensions", ())
    for one in extensions.values() if isinstance(extensions, Mapping) else extensions:
        if getattr(one, "identifier", None) == IDENTIFIER:
            catalogue: Catalogue = one.edge.catalogue()
            return catalogue.withheld
    return {}


def contracts_in(server: Any) -> dict[str, Contract]:
    """The contracts of a server's functions."""
    found: dict[str, Contract] = {}
    for tool in _registered_functions(server):
        with suppress(AttributeError):
            contract = contract_of(tool.fn, tool.name)
            if contract is not None:
                found[tool.name] = contract
    return found
