"""Lists the tools of configured upstreams and of the servers in a client's configuration."""

from __future__ import annotations

import difflib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from assent.errors import Fault, SettingsError

if TYPE_CHECKING:
    from assent.config.model import Settings, UpstreamSettings

if TYPE_CHECKING:  # Importing the SDK takes half a second, and files do not need it.
    from assent.probe.list_tools import ToolListing
    from assent.upstreams.openapi.api import ApiDescription

_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")


def settings_naming(target: str, config: Path | None) -> Settings | None:
    """The configuration that has an upstream with this name, or None if the target is something else."""
    from assent.config.load import find_settings

    if not _NAME.fullmatch(target) or Path(target).is_file():
        return None
    try:
        settings = find_settings(config)
    except SettingsError:
        if config is not None:
            raise
        return None
    if target not in settings.upstreams:
        if close := difflib.get_close_matches(target, settings.upstreams, n=1):
            message = f"neither a file nor an upstream has the name {target}"
            raise SettingsError(Fault(message, f"Did you mean {close[0]}?"))
        return None
    return settings


def list_tools(name: str, upstream: UpstreamSettings) -> ToolListing:
    """The definitions that an MCP upstream lists; raises NotListedError with its name."""
    import asyncio

    from assent.probe.list_tools import NotListedError, listed_at, listed_by

    try:
        if upstream.url is not None:
            return asyncio.run(listed_at(upstream.url, upstream.headers))
        assert upstream.command is not None, "an OpenAPI upstream has no server to list"
        errors = sys.__stderr__ or sys.stderr
        return asyncio.run(listed_by(upstream.command, errors=errors, env=upstream.env, cwd=upstream.cwd))
    except NotListedError as error:
        raise NotListedError(f"{name}: {error}") from None


def read_description(source: str) -> ApiDescription:
    """The API that a document describes, from a file or a URL."""
    import asyncio

    from assent.infer import classify
    from assent.upstreams.http.fetch import fetch_text
    from assent.upstreams.openapi.api import read_api
    from assent.upstreams.openapi.references import library_of, read_file

    text = asyncio.run(fetch_text(source)) if "://" in source else read_file(Path(source))
    return read_api(library_of(text, source), infer=classify)
