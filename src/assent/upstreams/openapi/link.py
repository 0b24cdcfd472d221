"""Upstreams that are HTTP APIs, described by an OpenAPI document."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from assent.contract.infer import classify
from assent.contract.model import Contract
from assent.contract.tiers import Tier
from assent.core.call import Call
from assent.core.principal import Principal
from assent.core.shown_definition import Shown, shown_tool
from assent.core.tool import Tool
from assent.errors import ContractError
from assent.mcp.protocol import LATEST_MODERN_VERSION
from assent.mcp.requests import McpRequest
from assent.mcp.server_identity import Described
from assent.mcp.tracing import TRACING
from assent.ports import NotReached, NotRun, OutcomeUnknown
from assent.upstreams.compiled_tools import NO_CONTRACT, CompiledTools, UpstreamPolicy
from assent.upstreams.errors import UpstreamError
from assent.upstreams.http.connection import UpstreamResponse
from assent.upstreams.http.pool import Pool
from assent.upstreams.link import UpstreamLink, arguments_with_key
from assent.upstreams.openapi.arguments import Arguments
from assent.upstreams.openapi.document import library_of, read_file
from assent.upstreams.openapi.encoding import Unsendable, accepted, check_field
from assent.upstreams.openapi.operations import bare_type
from assent.upstreams.openapi.request import OpenApiRequest, check_base, write_request
from assent.upstreams.openapi.result import (
    Answered,
    Modes,
    ResultLimits,
    Unreadable,
    failed_result,
    result_of,
    shape,
    unreadable_result,
)
from assent.upstreams.openapi.tools import ApiDescription, ApiTool, Routes, compile_one, read_api

SendHttp = Callable[[str, str, Sequence[tuple[str, str]], bytes], Awaitable[UpstreamResponse]]
"""Sends one request (method, URL, headers, body) to one service, never redirected, never sent twice.

Raises NotReached if nothing was sent. Any other exception, also of the response's body, means that the request may
have arrived. It adds the credentials itself: no request here contains any.
"""
_SAFE = frozenset({"GET", "HEAD"})


async def exchange(send: SendHttp, request: OpenApiRequest, most: int) -> Answered:
    """Send a request and read at most `most` bytes of the response; raises NotReached or OutcomeUnknown."""
    try:
        response = await send(request.method, request.url, request.headers, request.body)
        headers = {name.lower(): value for name, value in response.headers}
        body, whole = await _read_body(response, most)
    except (NotReached, OutcomeUnknown):
        raise
    except Exception as error:
        raise OutcomeUnknown(f"{request.method} ended without a response: {type(error).__name__}") from error
    media = bare_type(_text(headers.get(b"content-type")))
    coding = _text(headers.get(b"content-encoding"))
    if coding and coding != "identity":  # The request did not accept an encoding, so the body is not decoded.
        media = f"{coding} encoding"
    return Answered(response.status, media, body, whole, _text(headers.get(b"retry-after")))


def _text(value: bytes | None) -> str:
    return (value or b"").decode("latin-1").strip().lower()


async def _read_body(response: UpstreamResponse, most: int) -> tuple[bytes, bool]:
    read: list[bytes] = []
    left = most
    async for piece in response.pieces():
        if len(piece) > left:
            read.append(piece[:left])
            response.close()
            return b"".join(read), False
        read.append(piece)
        left -= len(piece)
    return b"".join(read), True


def send_over(pool: Pool) -> SendHttp:
    """Return a sender over a pool, whose address alone decides the host; its configured headers have the
    credentials.
    """

    async def send(method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes) -> UpstreamResponse:
        parts = urlsplit(url)
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        fields = [(name.encode("ascii"), value.encode("ascii")) for name, value in headers]
        try:
            return await pool.send(
                method.encode("ascii"), fields, body, path=path.encode("ascii"), safe=method in _SAFE
            )
        except UpstreamError as fault:
            raise (OutcomeUnknown if fault.may_have_run else NotReached)(str(fault)) from fault

    return send


def shared_arguments(ours: Arguments, theirs: Arguments, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that the other operation knows; the rest is left out, because an estimate takes fewer.

    One of the two may describe its body field by field and the other as a whole. Raises NotReached if it knows none
    of the arguments: its answer would be about something else.
    """
    whole_here, whole_there = _whole_body(ours), _whole_body(theirs)
    plain = dict(given)
    if whole_here and not whole_there:
        body = plain.pop(whole_here, None)
        plain = {**(body if isinstance(body, Mapping) else {}), **plain}
    elif whole_there and not whole_here:
        fields = {slot.argument: slot.name for slot in ours.slots if slot.location == "field"}
        body = {fields[name]: plain.pop(name) for name in list(plain) if name in fields}
        plain[whole_there] = body
    elif whole_here and whole_there and whole_here in plain:
        plain[whole_there] = plain.pop(whole_here)
    known = {slot.argument for slot in theirs.slots}
    shared = {name: value for name, value in plain.items() if name in known or theirs.open_body}
    if plain and known and not shared:
        raise NotReached("the estimate accepts none of the arguments")
    return shared


def _whole_body(arguments: Arguments) -> str:
    return next((slot.argument for slot in arguments.slots if slot.location == "body"), "")


KEY_HEADER = "Idempotency-Key"


class OpenApiUpstream:
    """An upstream that is an HTTP API. Configuration sets the address; the document's servers never do."""

    def __init__(self, api: ApiDescription, base_url: str, send: SendHttp, bounds: ResultLimits | None = None) -> None:
        self.api = api
        self.base_url = check_base(base_url)
        self.bounds = bounds or ResultLimits()
        self._send = send
        self._routes = Routes(api.operations)
        self._accept = {name: accepted(tool.operation) for name, tool in api.tools.items()}

    async def run(self, call: Call, key: str | None) -> dict[str, Any]:
        """The result of a call. Raises NotReached or NotRun (nothing was done), OutcomeUnknown or ToolFailed."""
        contract = call.tool.contract
        tool = self._tool(call.tool.wire_name)
        arguments = arguments_with_key(call, key)
        request = self._request(tool, arguments, self._key_header(tool, contract, key))
        is_read = contract.side_effect is Tier.READ or call.dry_run
        answered = await exchange(self._send, request, self.bounds.body)
        return self._result(answered, tool, contract.failure_modes, is_read, _fits(call.tool))

    async def read(self, tool: str, arguments: Mapping[str, Any], call: Call) -> dict[str, Any]:
        """The result of another, read-only tool, by the upstream's own name for it."""
        other = self._tool(tool)
        given = shared_arguments(self._tool(call.tool.wire_name).arguments, other.arguments, arguments)
        try:
            request = self._request(other, given, ())
        except NotRun as error:
            raise NotReached(str(error)) from None
        answered = await exchange(self._send, request, self.bounds.body)
        return self._result(answered, other, {}, True, lambda _: True)

    def _tool(self, name: str) -> ApiTool:
        if name not in self.api.tools:
            raise NotReached(f"the document has no operation {name[:80]!r}")
        return self.api.tools[name]

    def _key_header(self, tool: ApiTool, contract: Contract, key: str | None) -> tuple[tuple[str, str], ...]:
        """The key as a header, if the contract says that the service honours keys."""
        if key is None or contract.idempotency.recovery != "keyed" or contract.idempotency.forward == "argument":
            return ()
        return ((tool.arguments.key_header or KEY_HEADER, check_field(key, KEY_HEADER)),)

    def _request(
        self, tool: ApiTool, arguments: Mapping[str, Any], headers: tuple[tuple[str, str], ...]
    ) -> OpenApiRequest:
        headers = (("Accept", self._accept[tool.name]), ("Accept-Encoding", "identity"), *headers)
        operation, slots = tool.operation, tool.arguments.slots
        request = write_request(self.base_url, operation.method, tool.template, tool.arguments, arguments, headers)
        path = request.url.partition("?")[0].removeprefix(self.base_url)
        if self._routes.is_neighbours(operation, path, spans=any(slot.spans for slot in slots)):
            raise Unsendable("these arguments form the path of another operation")
        return request

    def _result(
        self, answered: Answered, tool: ApiTool, modes: Modes, is_read: bool, fits: Callable[[Any], bool]
    ) -> dict[str, Any]:
        if not 200 <= answered.status < 300:
            return failed_result(answered, modes, is_read=is_read)
        try:
            raw = bool(tool.operation.extensions.get("x-raw-response"))
            return shape(answered, self.bounds, raw=raw, fits=fits)
        except Unreadable as error:
            if is_read:
                return unreadable_result(answered, str(error))
            if not answered.whole:
                return result_of({"status": answered.status, "truncated": True})
            # A login page answers 200 as well, so it is not certain that the service did anything.
            raise OutcomeUnknown(str(error)) from None


def _fits(tool: Tool) -> Callable[[Any], bool]:
    check = tool.check_output
    return lambda structured: check is None or not check(structured)


_TEXTS = ("title", "category_label", "meta")
Fetch = Callable[[str], Awaitable[str]]


class OpenApiLink(UpstreamLink):
    """An upstream that is an HTTP API: its tools come from a document, its calls go to the configured address."""

    def __init__(
        self,
        name: str,
        source: str,
        live: tuple[str, SendHttp],
        test: tuple[str, SendHttp] | None = None,
        *,
        fetch: Fetch | None = None,
    ) -> None:
        super().__init__(name)
        self._described: Described | None = None
        self.api = ApiDescription({})
        self._source, self._fetch = source, fetch
        self._addresses = {"live": live} | ({"test": test} if test is not None else {})
        self._endpoints: dict[str, OpenApiUpstream] = {}
        self._text: str | None = None

    @property
    def described(self) -> Described | None:
        return self._described

    @property
    def excluded(self) -> Mapping[str, str]:
        return {one.name: one.reason for one in self.api.excluded}

    @property
    def is_local_document(self) -> bool:  # type: ignore[override]
        """Whether the document is a local file, which cannot be temporarily unreachable."""
        return self._fetch is None

    async def load(self) -> list[dict[str, Any]]:
        """Every definition of the document; it is parsed again only if its text has changed."""
        text = await self._read_document()
        if text != self._text:
            await asyncio.to_thread(self._parse, text)
        return [dict(tool.definition) for tool in self.api.tools.values()]

    async def _read_document(self) -> str:
        if self._fetch is not None:
            return await self._fetch(self._source)
        return await asyncio.to_thread(read_file, Path(self._source))

    def _parse(self, text: str) -> None:
        library = library_of(text, self._source)
        api = read_api(library, infer=classify)
        self._endpoints = {mode: OpenApiUpstream(api, base, send) for mode, (base, send) in self._addresses.items()}
        self._described = Described(LATEST_MODERN_VERSION, _info(library.root), {}, None)
        self.api, self._text = api, text

    def take_in(
        self,
        overlays: Mapping[str, Mapping[str, Any]],
        policy: UpstreamPolicy,
        unaccepted: Mapping[str, str] | None = None,
    ) -> CompiledTools:
        tools: list[Tool] = []
        hidden: dict[str, tuple[str, ...]] = {}
        withheld = {policy.canonical(one.name): one.reason for one in self.api.excluded}
        for tool in self.api.tools.values():
            canonical = policy.canonical(tool.name)
            if tool.name in (unaccepted or {}):
                withheld[canonical] = (unaccepted or {})[tool.name]
                continue
            if policy.without_contract != "infer" and not (canonical in overlays or tool.is_declared):
                withheld[canonical] = NO_CONTRACT
                continue
            shown = shown_tool(tool.definition)
            if shown.unusable:
                withheld[canonical] = shown.unusable
                continue
            try:
                tools.append(compile_one(_as_shown(tool, shown), canonical, overlays.get(canonical, {}), policy))
                if shown.removed:
                    hidden[canonical] = tuple(dict.fromkeys(shown.removed))
            except ContractError as error:
                withheld[canonical] = f"its contract cannot be used: {error.faults[0]}"
        kept = {tool.name for tool in tools}
        return CompiledTools(tuple(tools), {name: why for name, why in withheld.items() if name not in kept}, hidden)

    async def run(self, call: Call, key: str | None, mcp_request: McpRequest) -> dict[str, Any]:
        with TRACING.upstream("tools/call", self.name, call.tool.name):
            return await self._endpoint_for(call.principal).run(call, key)

    async def read(
        self, tool: Tool, arguments: Mapping[str, Any], call: Call, mcp_request: McpRequest
    ) -> dict[str, Any]:
        return await self._endpoint_for(call.principal).read(tool.wire_name, arguments, call)

    def _endpoint_for(self, principal: Principal) -> OpenApiUpstream:
        """Test principals reach only the test address; live ones never do."""
        endpoint = self._endpoints.get("test" if principal.mode == "test" else "live")
        if endpoint is None:
            what = "has no test endpoint" if self._endpoints else "has not been read yet"
            raise NotReached(f"upstream {self.name!r} {what}")
        return endpoint


def _as_shown(tool: ApiTool, shown: Shown) -> ApiTool:
    """The tool as agents get it; the texts of its contract come from the same document."""
    texts = {key: shown.text(tool.fields[key], f"/{key}") for key in _TEXTS if key in tool.fields}
    return replace(tool, definition=shown.definition, fields={**tool.fields, **texts})


def _info(root: Mapping[str, Any]) -> dict[str, Any]:
    info = root.get("info")
    fields = info if isinstance(info, Mapping) else {}
    return {"name": str(fields.get("title") or "api")[:200], "version": str(fields.get("version") or "0")[:100]}


def open_api_link(
    name: str, source: str, live: tuple[str, Pool], test: tuple[str, Pool] | None, fetch: Fetch
) -> OpenApiLink:
    """The link to an API: its document is a file or a URL, its addresses have their own connections."""
    other = None if test is None else (test[0], send_over(test[1]))
    return OpenApiLink(name, source, (live[0], send_over(live[1])), other, fetch=fetch if "://" in source else None)
