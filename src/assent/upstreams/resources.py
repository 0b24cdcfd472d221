"""Finds which of several upstreams has a resource or prompt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from assent.core.limited_dict import LimitedDict

_EXPRESSION = re.compile(r"\{([^{}]*)\}")
MOST_LITERALS = 32

Key = TypeVar("Key")


@dataclass(slots=True)
class ListedResources:
    """What one upstream last listed, each entry as agents get it."""

    lists: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    looked_at: float = float("-inf")

    def names(self, key: str, field_name: str) -> Iterable[str]:
        """The names of the entries on one list; entries without a name are ignored."""
        for entry in self.lists.get(key, ()):
            if isinstance(name := entry.get(field_name), str):
                yield name

    def has(self, uri: str) -> bool:
        return uri in self.names("resources", "uri") or uri in self.names("resourceTemplates", "uriTemplate")

    def fit(self, uri: str) -> int:
        """How much of the URI a template spells out; 0 if none matches."""
        return max(
            (template_score(template, uri) for template in self.names("resourceTemplates", "uriTemplate")), default=0
        )

    def is_near(self, uri: str) -> bool:
        """Whether it has anything with the same scheme and authority."""
        place = origin_of(uri)
        uris = [*self.names("resources", "uri"), *self.names("resourceTemplates", "uriTemplate")]
        return any(origin_of(one) == place for one in uris)


class ListedPerOwner(Generic[Key]):
    """What one upstream last listed to each owner. The lists of the least recent owners are dropped."""

    def __init__(self, most: int = 1000) -> None:
        self._listed = LimitedDict[Key, ListedResources](most)

    def of(self, owner: Key) -> ListedResources:
        listed = self._listed[owner] = self._listed.get(owner) or ListedResources()
        return listed


def owner_of(uri: str, by_upstream: Mapping[Key, ListedResources]) -> Key | None:
    """The upstream of a resource: the one that lists it, then the one whose template spells out most of it, then
    the first with the same origin.

    The first wins among equals. A URI that matches no upstream goes to none: it may reveal more than another server
    should learn.
    """
    for name, listed_resources in by_upstream.items():
        if listed_resources.has(uri):
            return name
    fits = {name: listed_resources.fit(uri) for name, listed_resources in by_upstream.items()}
    best = max(fits.values(), default=0)
    if best:
        return next(name for name, one in fits.items() if one == best)
    if len(by_upstream) == 1:
        return next(iter(by_upstream))
    return next((name for name, listed_resources in by_upstream.items() if listed_resources.is_near(uri)), None)


def template_score(template: str, uri: str) -> int:
    """How many characters of a URI a template (RFC 6570) spells out, 0 if it does not match.

    Linear in the URI for any template: anything may be between the literals, except a slash where the expression
    would have escaped it.
    """
    literals, slashes = _parts(template)
    if len(literals) > MOST_LITERALS or not uri.startswith(literals[0]):
        return 0
    at = len(literals[0])
    for literal, may_slash in zip(literals[1:], slashes, strict=True):
        found = uri.find(literal, at) if literal else len(uri)
        if found < 0 or (not may_slash and "/" in uri[at:found]):
            return 0
        at = found + len(literal)
    return sum(map(len, literals)) if at == len(uri) else 0


def _parts(template: str) -> tuple[list[str], list[bool]]:
    """The literals of a template, and which of the expressions between them may contain a slash."""
    pieces = _EXPRESSION.split(template)
    return pieces[::2], [bool(inner) and inner[0] in "+#/?&;" for inner in pieces[1::2]]


def origin_of(uri: str) -> tuple[str, str]:
    """Scheme and authority; expressions in them stay as written."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return "", uri
    return parts.scheme, parts.netloc


def dedupe_by_name(
    entries: Iterable[tuple[Key, dict[str, Any]]], field_name: str
) -> tuple[list[dict[str, Any]], list[tuple[str, Key, Key]]]:
    """The entries without duplicates of a name, and for each duplicate its name, owner and the earlier owner."""
    taken: dict[str, Key] = {}
    kept: list[dict[str, Any]] = []
    lost: list[tuple[str, Key, Key]] = []
    for owner, entry in entries:
        name = entry.get(field_name)
        if not isinstance(name, str):
            continue
        if name not in taken:
            taken[name] = owner
            kept.append(entry)
        elif taken[name] != owner:
            lost.append((name, owner, taken[name]))
    return kept, lost


def merge_capabilities(all_capabilities: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The combined capabilities of several servers, as far as the gateway supports them. The tool list may always
    change.
    """
    union: dict[str, Any] = {"tools": {"listChanged": True}}
    for kind in ("resources", "prompts", "completions", "logging"):
        found = [one[kind] for one in all_capabilities if isinstance(one.get(kind), Mapping)]
        if found:
            flags = ("subscribe", "listChanged") if kind == "resources" else ("listChanged",)
            union[kind] = {flag: True for flag in flags if any(one.get(flag) for one in found)}
    return union
