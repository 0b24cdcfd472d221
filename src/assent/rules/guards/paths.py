"""Reads a path in every way that file systems and servers read it, and compares it with globs."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from assent.contract.patterns import compile_linear
from assent.rules.guards.patterns import glob_pattern
from assent.rules.guards.text import visible_part

LONGEST = 4096
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufffd]|%u[0-9a-f]{4}", re.IGNORECASE)
_LISTS = re.compile(r"\{[^{}]*(?:,|\.\.)")
# A name in brackets as a whole, such as [slug], is one that web frameworks use.
_PATTERN = re.compile(r"[*?{]|(?:^|/)(?!\[{1,2}(?:\.{3})?\w+\]{1,2}(?:/|\Z))[^/]*\[")
_FILE = re.compile(r"file:", re.IGNORECASE)
_DRIVE = re.compile(r"[a-z]:", re.IGNORECASE)
_EXPANDED = re.compile(r"[~$|-]|%[A-Za-z_]\w*%")
_LINK = re.compile(r"(?!file:)[a-z][a-z0-9+.-]{1,20}:[/\\]|data:", re.IGNORECASE)
_SLASHES = str.maketrans("\\\u2215\u2044\u2216\u29f5\ufe68", "//////")
_PARAMETER = re.compile(r";[^/]*")
_SHORT_NAME = re.compile(r"(?:^|/)[^/.]{1,6}~[0-9](?:\.[^/]{0,3})?(?=/|\Z)")
_WILD = re.compile(r"[*?]")
_ENDS = re.compile(r"[. ]+(?=/|\Z)")


UNCLEAR = ""
"""The extension of a name that systems read differently."""


class PathReadings(NamedTuple):
    """The ways to read a path, with its `..` and with them folded; `unclear` says why nothing can be said about it."""

    paths: tuple[str, ...] = ()
    unclear: str | None = None


def read_path(text: str, base: str | None) -> PathReadings:
    """Every reading of a path as an absolute one; without a base, a relative path stays relative.

    A system follows a link before it goes up, many programs fold `..` first: `link/../x` may be two different files.
    """
    if not text or len(text) > LONGEST or _CONTROL.search(text):
        return PathReadings(unclear="it is not a path")
    if _EXPANDED.match(text):
        return PathReadings(unclear="it begins with a sign that programs expand or take for an option")
    if _LISTS.search(text):
        return PathReadings(unclear="it lists several paths in braces")
    if _LINK.match(text):
        return PathReadings(unclear="it is a link")
    found = {text}
    if _FILE.match(text):
        parts = urlsplit(text)
        if parts.netloc not in ("", "localhost"):
            return PathReadings(unclear="it is on another machine")
        found = {parts.path, unquote(parts.path)}
    for change in (_decoded, _compatible, _slashed):
        found |= {changed for one in found if (changed := change(one))}
    if any(_CONTROL.search(one) for one in found):
        return PathReadings(unclear="it hides a control character")
    if any(one.startswith("//") for one in found) or any(_DRIVE.match(one) for one in found):
        return PathReadings(unclear="it is on another machine or drive")
    joined = {posixpath.join(base, one) if base else one for one in found}
    return PathReadings(tuple(sorted(joined | {folded(one) for one in joined})))


def _decoded(path: str) -> str:
    for _ in range(4):
        path, before = unquote(path), path
        if path == before:
            break
    return path


def _compatible(path: str) -> str:
    return unicodedata.normalize("NFKC", path)


def _slashed(path: str) -> str:
    return _PARAMETER.sub("", path.translate(_SLASHES))


def folded(path: str) -> str:
    """The path without `.`, `..` and doubled slashes."""
    return posixpath.normpath(path)


def is_pattern(path: str) -> bool:
    """Whether programs may read a path as a pattern for several: `.e*`, `.[e]nv`."""
    return _PATTERN.search(path) is not None


def is_short_name(path: str) -> bool:
    """Whether Windows may read a part of a path as the short name of another file, as GIT~1 for .git."""
    return _SHORT_NAME.search(path) is not None


def is_climbing(path: str) -> bool:
    """Whether a relative path leaves the folder that it starts from, so that it may lead anywhere."""
    return folded(path).split("/")[0] == ".."


def blocked_forms(path: str) -> set[str]:
    """A path and what Windows makes of it: names without trailing dots, spaces and streams. In lower case."""
    plain = visible_part(path).casefold()
    without_stream = re.sub(r":[^/]*", "", plain)
    return {plain, _ENDS.sub("", plain), without_stream, _ENDS.sub("", without_stream)}


def matches_glob(path: str, pattern: str) -> bool:
    """Whether a path matches a glob, or is below what it names. A relative glob matches at any depth."""
    below = pattern.removesuffix("/**").rstrip("/") or "/"
    anchored = below if below.startswith("/") else f"**/{below}"
    compiled = compile_linear(glob_pattern(anchored))
    inside = compile_linear(glob_pattern(anchored.rstrip("/") + "/**"))
    return bool(compiled.fits(path)) or bool(inside.fits(path)) or below == "/"


def fixed_part(pattern: str) -> str:
    """The part of an absolute glob before its first wildcard, a whole directory."""
    wild = _WILD.search(pattern)
    if wild is None:
        return pattern.rstrip("/") or "/"
    return pattern[: wild.start()].rpartition("/")[0] or "/"


def extension_of(name: str) -> str | None:
    """The extension of a file's name in lower case, as any system reads it; None if there is none, or `UNCLEAR`."""
    plain = unicodedata.normalize("NFKC", _decoded(name)).replace("\\", "/")
    if _CONTROL.search(plain) or any(unicodedata.category(c) == "Cf" for c in plain):
        return UNCLEAR
    path = urlsplit(plain).path if "://" in plain else plain
    if path != path.partition("?")[0].partition("#")[0].partition(";")[0]:
        return UNCLEAR
    last = re.sub(r":[^/]*", "", path.rstrip("/. ").rpartition("/")[2]).rstrip(". \"'")
    ending = last.rpartition(".")
    return ending[2].casefold() if ending[1] and ending[2] else None
