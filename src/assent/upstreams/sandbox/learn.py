"""The settings that fit what a server was seen to use."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path, PurePath

from assent.core.question import visible
from assent.upstreams.sandbox.grants import Attempt, folder_of, is_broad, is_under
from assent.upstreams.sandbox.usage import AT_START, Usage

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
        shown = sorted(found)
        yield from (f"#   {visible(str(attempt))}{_stopped(usage, tool, attempt)}" for attempt in shown[:_MOST_LINES])
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


def _stopped(usage: Usage, tool: str, attempt: Attempt) -> str:
    return "   (stopped)" if attempt in usage.stopped.get(tool, ()) else ""


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
