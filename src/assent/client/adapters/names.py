"""Names of tools for models.

Models accept up to 64 letters, digits, `_` and `-`. A name stays with its tool: a server that changes its list cannot
make a known name mean another tool.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from itertools import count

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST = 64


class Names:
    """Maps tools to names for models, and back."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}
        self._meant: dict[str, str] = {}

    def give(self, tools: Iterable[str]) -> None:
        """Name new tools; a tool keeps its own name if that is valid and free."""
        unnamed = [name for name in dict.fromkeys(tools) if name not in self._given]
        for name in sorted(unnamed, key=lambda name: _safe_name(name) != name):
            given = self._free_name(name)
            self._given[name], self._meant[given] = given, name

    def of(self, tool: str) -> str:
        return self._given[tool]

    def tool_named(self, name: str) -> str | None:
        """Return the tool of a name, or None if the name was never given."""
        return self._meant.get(name)

    def _free_name(self, tool: str) -> str:
        fit = _safe_name(tool)
        if fit and fit not in self._meant:
            return fit
        for attempt in count():
            mark = hashlib.sha256(f"{attempt} {tool}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
            marked = f"{(fit or 'tool')[: _LONGEST - 9]}_{mark}"
            if marked not in self._meant:
                break
        return marked


def _safe_name(name: str) -> str:
    return _UNSAFE.sub("_", name)[:_LONGEST]
