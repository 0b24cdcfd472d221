"""Upstreams that are HTTP APIs, described by an OpenAPI document."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assent.contract.infer import classify
from assent.core.call import Call
from assent.core.principal import Principal
from assent.core.shown_definition import Shown, shown_tool
from assent.core.tool import Tool
from assent.errors import ContractError
from assent.mcp.protocol import LATEST_MODERN_VERSION
from assent.mcp.requests import McpRequest
from assent.mcp.server_identity import Described
from assent.mcp.tracing import TRACING
from assent.ports import NotReached
from assent.upstreams.compiled_tools import NO_CONTRACT, CompiledTools, UpstreamPolicy
from assent.upstreams.http.pool import Pool
from assent.upstreams.link import UpstreamLink

if TYPE_CHECKING:
    from assent.upstreams.openapi.api import ApiTool
    from assent.upstreams.openapi.upstream import OpenApiUpstream, SendHttp

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
        from assent.upstreams.openapi.api import ApiDescription

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
        text = await self._read()
        if text != self._text:
            await asyncio.to_thread(self._parse, text)
        return [dict(tool.definition) for tool in self.api.tools.values()]

    async def _read(self) -> str:
        if self._fetch is not None:
            return await self._fetch(self._source)
        from assent.upstreams.openapi.document import read_file

        return await asyncio.to_thread(read_file, Path(self._source))

    def _parse(self, text: str) -> None:
        from assent.upstreams.openapi.api import read_api
        from assent.upstreams.openapi.document import library_of
        from assent.upstreams.openapi.upstream import OpenApiUpstream

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
        from assent.upstreams.openapi.api import compile_one

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
    from assent.upstreams.openapi.upstream import send_over

    other = None if test is None else (test[0], send_over(test[1]))
    return OpenApiLink(name, source, (live[0], send_over(live[1])), other, fetch=fetch if "://" in source else None)
