"""Under which name does a model know a tool?

Models take up to 64 letters, digits, `_` and `-`. A name once given stays with its tool: a server that changes its
list cannot make the model's word for one tool mean another.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from itertools import count

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST = 64


class Names:
    """Names for models, and the tools they stand for."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}
        self._meant: dict[str, str] = {}

    def give(self, tools: Iterable[str]) -> None:
        """Name what has no name yet; a tool whose own name is fit keeps it where it is free."""
        unnamed = [name for name in dict.fromkeys(tools) if name not in self._given]
        for name in sorted(unnamed, key=lambda name: _fit(name) != name):
            given = self._free(name)
            self._given[name], self._meant[given] = given, name

    def of(self, tool: str) -> str:
        return self._given[tool]

    def meant(self, name: str) -> str | None:
        """The tool a model means; None where no tool was ever called so."""
        return self._meant.get(name)

    def _free(self, tool: str) -> str:
        fit = _fit(tool)
        if fit and fit not in self._meant:
            return fit
        for attempt in count():
            mark = hashlib.sha256(f"{attempt} {tool}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
            marked = f"{(fit or 'tool')[: _LONGEST - 9]}_{mark}"
            if marked not in self._meant:
                break
        return marked


def _fit(name: str) -> str:
    return _UNSAFE.sub("_", name)[:_LONGEST]
