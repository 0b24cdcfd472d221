"""Lists the tools of configured upstreams and of the servers in a client's configuration."""

from __future__ import annotations

import difflib
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from assent.errors import Fault, SettingsError

if TYPE_CHECKING:
    from assent.checks.probe.list_tools import ToolListing
    from assent.config.model import Settings, UpstreamSettings
    from assent.contract.model import Contract
    from assent.upstreams.openapi.tools import ApiDescription

_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")


def settings_to_ask(config: Path | None, upstream: str | None = None) -> Settings:
    """The settings for listing the tools of one upstream, or of all; the store only where people have connected one."""
    from assent.config.load import OUTSIDE, find_settings

    but = [f"upstreams.{upstream}" if upstream else "upstreams"]
    settings = find_settings(config, unused=(*OUTSIDE, "store", "secrets", "audit"), but=but)
    connected = [name for name, one in settings.upstreams.items() if one.auth is not None and upstream in (None, name)]
    return find_settings(config, unused=OUTSIDE, but=but) if connected else settings


def settings_naming(target: str, config: Path | None) -> Settings | None:
    """The configuration that has an upstream with this name, or None if the target is something else."""
    from assent.config.trust import UntrustedError

    if not _NAME.fullmatch(target) or Path(target).is_file():
        return None
    try:
        settings = settings_to_ask(config, target)
    except SettingsError as error:
        if config is not None or isinstance(error, UntrustedError):
            raise
        return None
    if target not in settings.upstreams:
        if close := difflib.get_close_matches(target, settings.upstreams, n=1):
            message = f"neither a file nor an upstream has the name {target}"
            raise SettingsError(Fault(message, f"Did you mean {close[0]}?"))
        return None
    return settings


def list_tools(name: str, upstream: UpstreamSettings, settings: Settings | None = None) -> ToolListing:
    """The definitions that an MCP upstream lists; raises NotListedError with its name.

    With `settings`, an upstream that people have connected is asked with the kept credential.
    """
    import asyncio

    from assent.checks.probe.list_tools import NotListedError, ToolListing, listed_at, listed_by

    if settings is not None and upstream.url is not None and upstream.auth is not None:
        from assent.gateway.catalogue_preview import list_connected
        from assent.upstreams.errors import UpstreamError

        try:
            return ToolListing(asyncio.run(list_connected(name, settings)), "")
        except UpstreamError as error:
            advice = f". {error.advice}" if error.advice else ""
            raise NotListedError(f"{name}: {error.detail}{advice}") from None
    try:
        if upstream.url is not None:
            return asyncio.run(listed_at(upstream.url, upstream.headers))
        assert upstream.command is not None, "an OpenAPI upstream has no server to list"
        if upstream.sandbox.mode == "enforce":
            return asyncio.run(_listed_in_its_box(name, upstream))
        errors = sys.__stderr__ or sys.stderr
        return asyncio.run(listed_by(upstream.command, errors=errors, env=upstream.env, cwd=upstream.cwd))
    except NotListedError as error:
        raise NotListedError(f"{name}: {error}") from None


async def _listed_in_its_box(name: str, upstream: UpstreamSettings) -> ToolListing:
    """The definitions of a server that is never started outside its sandbox."""
    from assent.checks.probe.list_tools import NotListedError, ToolListing
    from assent.gateway.upstream_factory import UpstreamFactory
    from assent.mcp.jsonrpc import RpcError
    from assent.stores.memory import MemoryStore
    from assent.upstreams.errors import UpstreamError
    from assent.upstreams.stdio.link import StdioLink
    from assent.upstreams.vault import CredentialVault

    vault = CredentialVault(MemoryStore(), lambda: bytes(32), time.time)  # It needs no credential to list its tools.
    link = UpstreamFactory(vault).link(name, upstream)
    assert isinstance(link, StdioLink)
    try:
        definitions = await link.load()
        return ToolListing(definitions, str(link.described.info.get("name")) if link.described is not None else name)
    except (UpstreamError, RpcError) as error:
        raise NotListedError(str(error)) from None
    finally:
        await link.close()


def read_description(source: str) -> ApiDescription:
    """The API that a document describes, from a file or a URL."""
    import asyncio

    from assent.upstreams.http.fetch import fetch_text
    from assent.upstreams.openapi.document import read_file

    return _read_api(asyncio.run(fetch_text(source)) if "://" in source else read_file(Path(source)), source)


def _read_api(text: str, source: str) -> ApiDescription:
    from assent.contract.infer import classify
    from assent.upstreams.openapi.document import library_of
    from assent.upstreams.openapi.tools import read_api

    return read_api(library_of(text, source), infer=classify)


_VERSION = re.compile(r"""^\s*["']?(openapi|swagger)["']?\s*:|"(openapi|swagger)"\s*:\s*"[0-9]""", re.MULTILINE)


def api_of(path: Path) -> ApiDescription | None:
    """The API that a file describes, or None if it is not an OpenAPI document. Raises DocumentError for a bad one."""
    from assent.upstreams.openapi.document import read_file

    if not path.is_file():
        return None
    text = read_file(path)
    if not _VERSION.search(text):
        return None
    return _read_api(text, str(path))


def api_contracts(api: ApiDescription) -> dict[str, Contract]:
    """The contracts of an API's operations, by tool name."""
    from assent.contract.reader import read_contract

    return {name: read_contract(name, tool.fields) for name, tool in api.tools.items()}
