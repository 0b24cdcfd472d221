"""Upstreams that are HTTP APIs, described by an OpenAPI document."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from mcp_types.version import LATEST_MODERN_VERSION

from assent.core.call import Call
from assent.core.principal import Principal
from assent.core.tool import Tool
from assent.errors import ContractError
from assent.infer import classify
from assent.mcp.requests import McpRequest
from assent.ports import NotReached
from assent.upstreams.compiled_tools import NO_CONTRACT, CompiledTools, UpstreamPolicy
from assent.upstreams.http.server import Described
from assent.upstreams.openapi.api import ApiDescription, ApiTool, compile_one, read_api
from assent.upstreams.openapi.http import SendHttp
from assent.upstreams.openapi.references import library_of, read_file
from assent.upstreams.openapi.upstream import OpenApiUpstream

Fetch = Callable[[str], Awaitable[str]]


class OpenApiLink:
    """An upstream that is an HTTP API: its tools come from a document, its calls go where configuration says."""

    streams = False

    def __init__(
        self,
        name: str,
        source: str,
        live: tuple[str, SendHttp],
        test: tuple[str, SendHttp] | None = None,
        *,
        fetch: Fetch | None = None,
    ) -> None:
        self.name = name
        self.described: Described | None = None
        self.api = ApiDescription({})
        self._source, self._fetch = source, fetch
        self._addresses = {"live": live} | ({"test": test} if test is not None else {})
        self._ends: dict[str, OpenApiUpstream] = {}
        self._text: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether the document is a file of ours, which cannot be away for a while."""
        return self._fetch is None

    async def load(self) -> list[dict[str, Any]]:
        """Every definition the document gives; it is read again only where its text has changed."""
        text = await self._read()
        if text != self._text:
            await asyncio.to_thread(self._understand, text)
        return [dict(tool.definition) for tool in self.api.tools.values()]

    async def _read(self) -> str:
        if self._fetch is not None:
            return await self._fetch(self._source)
        return await asyncio.to_thread(read_file, Path(self._source))

    def _understand(self, text: str) -> None:
        library = library_of(text, self._source)
        api = read_api(library, infer=classify)
        self._ends = {mode: OpenApiUpstream(api, base, send) for mode, (base, send) in self._addresses.items()}
        self.described = Described(LATEST_MODERN_VERSION, _info(library.root), {}, None)
        self.api, self._text = api, text

    def take_in(
        self,
        overlays: Mapping[str, Mapping[str, Any]],
        terms: UpstreamPolicy,
        unaccepted: Mapping[str, str] | None = None,
    ) -> CompiledTools:
        """The operations under contract; what a contract file says of one wins over what the document says."""
        tools: list[Tool] = []
        withheld = {terms.canonical(one.name): one.reason for one in self.api.excluded}
        for tool in self.api.tools.values():
            canonical = terms.canonical(tool.name)
            if tool.name in (unaccepted or {}):
                withheld[canonical] = (unaccepted or {})[tool.name]
                continue
            if terms.without_contract != "infer" and not (canonical in overlays or tool.is_declared):
                withheld[canonical] = NO_CONTRACT
                continue
            try:
                tools.append(_compiled(tool, canonical, overlays.get(canonical, {}), terms))
            except ContractError as error:
                withheld[canonical] = f"its contract cannot be used: {error.faults[0]}"
        kept = {tool.name for tool in tools}
        return CompiledTools(tuple(tools), {name: why for name, why in withheld.items() if name not in kept})

    async def run(self, call: Call, key: str | None, mcp_request: McpRequest, asked: dict[str, Any]) -> dict[str, Any]:
        return await self._end(call.principal).run(call, key)

    async def read(
        self, tool: Tool, arguments: Mapping[str, Any], call: Call, mcp_request: McpRequest
    ) -> dict[str, Any]:
        return await self._end(call.principal).read(tool.wire_name, arguments, call)

    def _end(self, principal: Principal) -> OpenApiUpstream:
        """Test principals reach the test address and nothing else; live ones never do."""
        end = self._ends.get("test" if principal.mode == "test" else "live")
        if end is None:
            what = "has no test endpoint" if self._ends else "has not been read yet"
            raise NotReached(f"upstream {self.name!r} {what}")
        return end


def _compiled(tool: ApiTool, canonical: str, overlay: Mapping[str, Any], terms: UpstreamPolicy) -> Tool:
    return compile_one(
        tool,
        canonical,
        overlay,
        profile=terms.profile,
        upstream=terms.upstream,
        has_test=terms.has_test,
        historic_names=terms.historic_names,
        vouched=terms.vouched,
        visibility=terms.visibility,
    )


def _info(root: Mapping[str, Any]) -> dict[str, Any]:
    info = root.get("info")
    said = info if isinstance(info, Mapping) else {}
    return {"name": str(said.get("title") or "api")[:200], "version": str(said.get("version") or "0")[:100]}
