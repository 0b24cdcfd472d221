"""What a server used and what was stopped, for each of its tools."""

from __future__ import annotations

import ipaddress
import json
import logging
import os
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePath
from threading import Lock
from typing import Any

from assent.core.question import visible
from assent.upstreams.sandbox.grants import (
    OWN_FILES,
    SYSTEM,
    SYSTEM_FILES,
    Attempt,
    Box,
    Grants,
    folder_of,
    host_and_port,
    is_broad,
    is_under,
)

logger = logging.getLogger(__name__)

_DEVICES = ("/proc", "/dev/null", "/dev/tty", "/dev/pts", "/dev/ptmx", "/dev/random", "/dev/urandom", "/dev/zero")

MOST_KEPT = 2000
MOST_TOLD = 50
AT_START = ""
"""The name under which attempts are kept that belong to no call: at the start, and in between."""


@dataclass
class Usage:
    """The attempts of one server's tools: all that were seen, and those outside the box."""

    used: dict[str, set[Attempt]] = field(default_factory=dict)
    stopped: dict[str, set[Attempt]] = field(default_factory=dict)
    guessed: set[str] = field(default_factory=set)
    """The tools whose tier nobody has declared."""
    is_changed: bool = False
    _size: int = 0
    _lock: Lock = field(default_factory=Lock)
    """The threads that watch processes add to it."""

    def add(self, tools: Iterable[str], attempt: Attempt, *, stopped: bool) -> bool:
        """Keep an attempt; returns whether it is new for one of the tools."""
        kept, new = self.stopped if stopped else self.used, False
        with self._lock:
            for tool in tools:
                mine = kept.setdefault(tool, set())
                if attempt not in mine and self._size < MOST_KEPT:
                    mine.add(attempt)
                    self._size, self.is_changed, new = self._size + 1, True, True
        return new

    def as_json(self) -> dict[str, Any]:
        parts = {"used": self.used, "stopped": self.stopped}
        with self._lock:
            kept = {key: {tool: sorted(map(list, all)) for tool, all in part.items()} for key, part in parts.items()}
        return {**kept, "guessed": sorted(self.guessed)}

    def merge(self, document: Mapping[str, Any]) -> None:
        """Add what another process, or an earlier one, has kept."""
        self.guessed |= set(document.get("guessed", ()))
        for key in ("used", "stopped"):
            for tool, found in document.get(key, {}).items():
                for kind, target in found:
                    self.add([tool], Attempt(kind, target), stopped=key == "stopped")

    def all(self, kind: str, *, stopped: bool = False) -> list[str]:
        kept = (self.stopped if stopped else self.used).values()
        return sorted({attempt.target for found in kept for attempt in found if attempt.kind == kind})


class BoxObserver:
    """Judges the attempts of one process. It is called from the thread that watches the process."""

    def __init__(
        self,
        upstream: str,
        usage: Usage,
        grants: Grants,
        box: Callable[[], Box],
        running: Callable[[], list[str]],
        *,
        confined: bool,
    ) -> None:
        self._upstream, self._usage, self._grants, self._box, self._running = upstream, usage, grants, box, running
        self._confined = confined
        self._waits_for = self._told_count = self.count = 0
        self._names: dict[str, str] = {}
        self._written_paths: set[str] = set()
        self._hits: deque[tuple[int, str, Attempt]] = deque(maxlen=MOST_KEPT)
        """What the box stopped, numbered, with the only tool that ran then; the calls take their own from here."""
        self.begin()

    def begin(self) -> None:
        """A new process starts: what happens before the server itself runs is bubblewrap's, which prepares the box."""
        self._waits_for = 2 if self._confined else 1

    def hits_since(self, number: int, tool: str) -> list[Attempt]:
        """What was stopped after the first `number` hits, if only this tool ran then."""
        return [attempt for count, name, attempt in tuple(self._hits) if count > number and name == tool]

    def __call__(self, attempt: Attempt) -> None:
        if self._waits_for:
            self._waits_for -= attempt.kind == "run"
            return
        found = self._network(attempt) if attempt.kind == "network" else self._file(attempt)
        if found is not None:
            self._keep(found)

    def _keep(self, attempt: Attempt) -> None:
        tools, box = self._running() or [AT_START], self._box()
        self._usage.add(tools, attempt, stopped=False)
        if self._grants.allows(attempt, box):
            return
        if len(tools) == 1:
            self.count += 1
            self._hits.append((self.count, tools[0], attempt))
        if self._usage.add(tools, attempt, stopped=True) and self._told_count < MOST_TOLD:
            self._told_count += 1
            verb = "was stopped" if self._confined else "would be stopped"
            line = self._grants.setting_for(self._upstream, attempt, box)
            named = [f"{tool} (its tier is a guess)" if tool in self._usage.guessed else tool for tool in tools]
            who = " or ".join(named) if tools != [AT_START] else "the server itself"
            logger.warning("%s: %s tried to %s, which %s; to allow it: %s", self._upstream, who, attempt, verb, line)

    def _file(self, attempt: Attempt) -> Attempt | None:
        """A file that is worth keeping: not of the system, not of the program, and there."""
        kind, path = attempt
        if self._confined:
            return attempt if kind == "write" and not is_under(path, _DEVICES) else None
        path = os.path.realpath(path)
        if kind == "write":
            self._written_paths.add(path)
            return None if is_under(path, _DEVICES) else Attempt(kind, path)
        own = (*SYSTEM, *SYSTEM_FILES, *OWN_FILES, *self._grants.program, *_DEVICES, "/sys")
        if is_under(path, own) or path in self._written_paths or not os.path.exists(path):  # noqa: PTH110
            return None
        if os.path.isdir(path) and any(is_under(one, [path]) for one in ("/tmp", *self._grants.places)):  # noqa: PTH112
            return None  # A box has the folders above what it is granted.
        return Attempt("read", path)

    def _network(self, attempt: Attempt) -> Attempt | None:
        host, port = host_and_port(attempt.target)
        if host.startswith("unix:"):
            return attempt if os.path.exists(host[5:]) or "@" in host else None  # noqa: PTH110
        if port is None:
            if not self._confined:
                self._learn_addresses(host)
                return None  # The connection follows, with its port.
            return attempt
        if port in (0, 53) or (self._confined and ipaddress.ip_address(host).is_loopback):
            return None
        return Attempt("network", f"{self._names.get(host, host)}:{port}")

    def _learn_addresses(self, name: str) -> None:
        """Remember the addresses of a name that the program asks for, to name the host that it connects to."""
        if name in self._names.values() or len(self._names) >= MOST_KEPT:
            return
        try:
            for found in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM):
                self._names[str(found[4][0])] = name
        except OSError:
            return


_MOST_LINES = 20
_MOST_FILES, _MOST_CODE = 5000, 50_000_000
_CODE = frozenset({".py", ".js", ".mjs", ".cjs", ".ts"})


def profile_lines(upstream: str, usage: Usage, variables: Iterable[str] = ()) -> Iterator[str]:
    """A part of `assent.yaml`, and after it what each tool used."""
    writes = folders([path for path in usage.all("write") if not is_under(path, ("/tmp", "/var/tmp"))])
    reads = [path for path in folders(usage.all("read")) if not is_under(path, writes)]
    hosts = sorted({_host(target) for target in usage.all("network") if not target.startswith("unix:")})
    yield "upstreams:"
    yield f"  {upstream}:"
    yield "    sandbox:"
    yield "      mode: enforce"
    for key, values in (("read", reads), ("write", writes), ("hosts", hosts), ("env", variables)):
        if values:
            yield f"      {key}: [{', '.join(_quoted(one) for one in values)}]"
    yield ""
    for tool, found in sorted(usage.used.items()):
        guess = " (its tier is a guess: write its contract)" if tool in usage.guessed else ""
        yield f"# {visible(tool) if tool != AT_START else 'at the start and between calls'}{guess}"
        shown, stopped = sorted(found), usage.stopped.get(tool, ())
        for attempt in shown[:_MOST_LINES]:
            yield f"#   {visible(str(attempt))}{'   (stopped)' if attempt in stopped else ''}"
        if len(shown) > _MOST_LINES:
            yield f"#   and {len(shown) - _MOST_LINES} more"
    sockets = [target for target in usage.all("network") if target.startswith("unix:")]
    if sockets:
        yield f"# It uses Unix sockets ({visible(', '.join(sockets[:5]))}): a box has none, unless `write` names them."


def folders(paths: Iterable[str]) -> list[str]:
    """The folders that cover the paths: a path's own, and one folder for many beside each other."""
    found: list[str] = []
    for path in sorted({folder_of(path) if not os.path.isdir(path) else path for path in paths}):  # noqa: PTH112
        if not is_under(path, found):
            found.append(path)
    parents = [str(PurePath(path).parent) for path in found]
    for parent in {one for one in parents if parents.count(one) > 3 and not is_broad(one)}:
        found = [parent, *(path for path in found if not is_under(path, [parent]))]
    return sorted(found)


def _host(target: str) -> str:
    return target.removesuffix(":443").removesuffix(":80")


def _quoted(text: str) -> str:
    return text if all(sign.isalnum() or sign in "/._-" for sign in text) else json.dumps(text)


def variables_in(program: Iterable[str], names: Iterable[str]) -> list[str]:
    """The variables that the program's own code names; the kernel does not see which ones a program reads."""
    wanted, found, left = {name.encode() for name in names if len(name) > 3}, set[bytes](), _MOST_CODE
    for file in islice(_code_files(program), _MOST_FILES):
        code = file.read_bytes()[:left]
        left -= len(code)
        found |= {name for name in wanted - found if name in code}
        if left <= 0:
            break
    return sorted(name.decode() for name in found)


def _code_files(program: Iterable[str]) -> Iterator[Path]:
    for place in map(Path, program):
        files = [place] if place.is_file() else place.rglob("*.*")
        yield from (file for file in files if file.suffix in _CODE and file.is_file())
