"""Resolves arguments that are paths on this machine: follows links, replaces `..` and `~`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from assent.config.model import Settings
from assent.core.call import Call
from assent.core.question import texts_in

LONGEST = 4096
MOST_LOOKED_AT = 64 * 1024
"""The most characters of one call that are resolved, because each part of a path costs a disk access."""

_TIMEOUT = 5.0


@dataclass(frozen=True, slots=True)
class RealPaths:
    """The real paths of calls to servers that a command starts on this machine."""

    settings: Settings

    async def of(self, call: Call) -> list[tuple[str, str]]:
        upstream = self.settings.upstreams.get(call.tool.upstream)
        if upstream is None or upstream.command is None:
            return []
        try:
            async with asyncio.timeout(_TIMEOUT):
                return await asyncio.to_thread(real_paths, call.stated, Path(upstream.cwd or "."))
        except TimeoutError:
            return [("paths", "not looked up: the disk did not answer in time")]


def real_paths(arguments: Mapping[str, Any], base: Path) -> list[tuple[str, str]]:
    """Every argument that, as a path relative to `base`, leads elsewhere than it says, with its real path."""
    home, left, found = os.path.realpath(base), MOST_LOOKED_AT, list[tuple[str, str]]()
    for name, text in texts_in(arguments):
        path = _path(text)
        if path is None or not name or name.startswith("the name "):
            continue
        left -= len(path)
        if left < 0:
            return [*found, (name, "not looked up: there is too much text")]
        if (real := _real(path, home)) is not None:
            found.append((name, real))
    return found


def _path(text: str) -> str | None:
    """The text as a path, or None if it cannot be one."""
    if text.lower().startswith("file:"):
        text = unquote(urlsplit(text.translate({9: None, 10: None, 13: None})).path)
    elif "://" in text:
        return None
    return text if 0 < len(text) <= LONGEST and "\0" not in text else None


def _real(path: str, home: str) -> str | None:
    """The real path, if it differs from the written one."""
    try:
        full = Path(home, Path(path).expanduser())
        real = os.path.realpath(full)
    except (OSError, ValueError, RuntimeError):  # RuntimeError: there is no such user.
        return None
    is_literal = not path.startswith("~") and ".." not in path.split("/")
    return None if is_literal and os.path.normpath(full) == real else real
