"""Selects the calls that a guard applies to, the inner calls of a meta-tool included."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from json import JSONDecoder
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, model_validator

from assent.contract.pointers import MISSING, Pointer, places, resolve
from assent.core.match import Match
from assent.rules.guards.values import Fields

MOST_NESTED = 8
"""How deep a meta-tool may call itself before its calls are refused."""


class UnreadableInner(Exception):
    """An inner call whose tool or arguments cannot be read, so that no guard can check it."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field, self.reason = field, reason


class InnerCall(NamedTuple):
    """A call that a meta-tool is asked to make."""

    tool: str
    arguments: dict[str, Any]
    path: str


class Inner(BaseModel):
    """Where a meta-tool's arguments hold the call that it makes: `invoke_tool(name, arguments)`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: str = "*"
    """A pattern for the inner tool's name, compared without regard to case."""
    name: Pointer = "/name"
    """Where the inner tool's name is."""
    arguments: Pointer = "/arguments"
    """Where the inner arguments are: an object, or a text that holds one as JSON."""
    each: Pointer | None = None
    """For a meta-tool that makes several calls: where they are, such as `/calls/*`. The pointers above start there."""

    def calls(self, arguments: Mapping[str, Any], outer: Collection[str]) -> Iterator[InnerCall]:
        """The matching inner calls. A meta-tool inside a meta-tool is looked into as well.

        `outer` are the names of the meta-tool, or patterns for them.
        """
        yield from self._calls(arguments, [plain_name(one) for one in outer], "", 1)

    def _calls(self, arguments: Mapping[str, Any], outer: list[str], path: str, depth: int) -> Iterator[InnerCall]:
        for one in self._whole(arguments):
            found = self._read_call(one, path)
            name = plain_name(found.tool)
            if fnmatchcase(name, plain_name(self.tool)):
                yield found
            if any(fnmatchcase(name, one) for one in outer):
                if depth == MOST_NESTED:
                    raise UnreadableInner(found.path, f"it calls itself more than {MOST_NESTED} times")
                yield from self._calls(found.arguments, outer, found.path, depth + 1)

    def _whole(self, arguments: Mapping[str, Any]) -> list[Any]:
        if self.each is None:
            return [arguments]
        found = [container[key] for container, key in places(arguments, self.each)]
        if not found and resolve(arguments, self.each.removesuffix("/*")) != []:
            raise UnreadableInner(_dotted("", self.each), "there is no inner call where the guard looks for it")
        return [_parse_text(one, self.each) for one in found]

    def _read_call(self, whole: Any, path: str) -> InnerCall:
        field, below = _dotted(path, self.name), _dotted(path, self.arguments)
        name = _only(whole, self.name, field)
        if name is MISSING:
            raise UnreadableInner(field, "there is no inner tool's name where the guard looks for it")
        if not isinstance(name, str):
            raise UnreadableInner(field, "the inner tool's name is not a text")
        return InnerCall(name, _object(_only(whole, self.arguments, below), below), below)


def _only(whole: Any, pointer: str, field: str) -> Any:
    """The value at a pointer in any spelling, or MISSING. Of two spellings a server may read either."""
    found = Fields((pointer,)).pick(whole)
    if len(found) > 1:
        raise UnreadableInner(field, "it is given more than once")
    return found[0] if found else MISSING


def plain_name(name: str) -> str:
    """A name as a lenient server may read it: without case, spaces at its ends, and compatibility forms."""
    return unicodedata.normalize("NFKC", name).strip().casefold()


def _dotted(path: str, pointer: str) -> str:
    below = pointer[1:].replace("/", ".")
    return f"{path}.{below}" if path else below


def _object(given: Any, field: str) -> dict[str, Any]:
    if given is MISSING or given is None:
        return {}
    found = _parse_text(given, field)
    if not isinstance(found, dict):
        raise UnreadableInner(field, "the inner arguments are not an object")
    return found


def _parse_text(given: Any, field: str) -> Any:
    if not isinstance(given, str):
        return given
    try:
        return _STRICT.decode(given)
    except (ValueError, RecursionError):
        raise UnreadableInner(field, "the inner arguments are not JSON that all programs read alike") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


_STRICT = JSONDecoder(object_pairs_hook=_unique)


class GuardMatch(Match):
    """Conditions on a call, and on the call that it makes if the tool is a meta-tool."""

    inner: Inner | None = None

    @model_validator(mode="after")
    def _names_the_meta_tool(self) -> GuardMatch:
        if self.inner is not None and self.tool is None:
            raise ValueError("`inner` needs `tool`, the meta-tool that makes the inner calls")
        return self
