"""What agents are shown of a server's definitions: nothing that a person would not see.

Texts lose their hidden characters. Names, and values that a call must repeat exactly, cannot change: a definition with
hidden characters there cannot be shown at all. Defaults and examples are left out, because a call works without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from assent.core.hidden_characters import hidden_in, is_plain, show_hidden, without_hidden
from assent.core.question import visible

UNUSABLE = "it has hidden characters in a name or value that calls must repeat exactly"
_SCHEMAS = ("inputSchema", "outputSchema")
_REPEATED = frozenset(
    (
        *("enum", "const", "required", "dependentRequired", "pattern", "type", "format"),
        *("$ref", "$dynamicRef", "$id", "$schema", "$anchor", "$dynamicAnchor", "propertyName", "mapping"),
    )
)
"""Keywords of JSON Schema whose values decide what may be sent."""
_OPTIONAL = frozenset(("default", "example", "examples"))
_NAMING = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"))
_NAMES_OF_ENTRIES = frozenset(("name", "uri", "uriTemplate"))
_MOST_PLACE, _MOST_NAME = 1_000, 200
_LISTS = ("prompts", "resources", "resourceTemplates")


@dataclass(slots=True)
class Shown:
    """A definition as agents get it, and what was hidden in it."""

    definition: Any
    removed: list[str] = field(default_factory=list)
    """Each place with the hidden characters that were taken out, escaped."""
    fixed: list[str] = field(default_factory=list)
    """The same for names and values, which keep them; then the definition cannot be shown."""

    @property
    def unusable(self) -> str:
        """Why it cannot be shown; empty if it can."""
        return f"{UNUSABLE}: {'; '.join(self.fixed[:3])}" if self.fixed else ""

    def text(self, value: Any, at: str) -> Any:
        """A value all of whose texts are for reading."""
        if isinstance(value, str):
            return self._stripped(value, at)
        if isinstance(value, list):
            return [self.text(one, f"{at}/{index}") for index, one in enumerate(value)]
        if not isinstance(value, Mapping):
            return value
        return {key: self.text(one, _below(at, key)) for key, one in value.items() if not self._drops(key, at)}

    def entry(self, value: Any, at: str) -> Any:
        """A prompt, a resource or an argument of one: its names are fixed."""
        if isinstance(value, list):
            return [self.entry(one, f"{at}/{index}") for index, one in enumerate(value)]
        if not isinstance(value, Mapping):
            return self.text(value, at)
        return {key: self._member(key, one, _below(at, key)) for key, one in value.items() if not self._drops(key, at)}

    def schema(self, value: Any, at: str, *, is_named: bool = False) -> Any:
        """A JSON Schema; in a mapping `is_named`, the keys are names that the author chose."""
        if isinstance(value, list):
            return [self.schema(one, f"{at}/{index}") for index, one in enumerate(value)]
        if not isinstance(value, Mapping):
            return self.text(value, at)
        kept: dict[Any, Any] = {}
        for key, one in value.items():
            place = _below(at, key)
            self._fix(key, f"{place} (a name)")
            if not is_named and key in _OPTIONAL and not is_clean(one):
                self.removed.append(f"{place} is left out: {_first_hidden(one)}")
            elif not is_named and key in _REPEATED:
                kept[key] = self._repeated(one, place)
            else:
                kept[key] = self.schema(one, place, is_named=not is_named and key in _NAMING)
        return kept

    def _member(self, key: str, value: Any, at: str) -> Any:
        if key in _NAMES_OF_ENTRIES and isinstance(value, str):
            return self._repeated(value, at)
        return self.entry(value, at) if key == "arguments" else self.text(value, at)

    def _repeated(self, value: Any, at: str) -> Any:
        for place, text in _texts(value, at):
            self._fix(text, place)
        return value

    def _fix(self, text: Any, at: str) -> None:
        if isinstance(text, str) and not _is_clean_text(text):
            self.fixed.append(f"{at}: {show_hidden(text)}")

    def _stripped(self, text: str, at: str) -> str:
        hidden = [] if is_plain(text) else list(hidden_in(text))
        if not hidden:
            return text
        self.removed.append(f"{at}: {show_hidden(text, hidden)}")
        return without_hidden(text, hidden)

    def _drops(self, key: Any, at: str) -> bool:
        """Whether a member is left out, because its own name has hidden characters."""
        if not isinstance(key, str) or _is_clean_text(key):
            return False
        self.removed.append(f"{_below(at, key)} is left out: {show_hidden(key)}")
        return True


def shown_tool(definition: Mapping[str, Any], replaced: frozenset[str] = frozenset()) -> Shown:
    """A tool's definition as agents get it. The members in `replaced` come from its contract and are not looked at."""
    if is_clean(definition):
        return Shown(definition)
    shown = Shown(None)
    parts: dict[str, Any] = {}
    for key, value in definition.items():
        at = _below("", key)
        if key in replaced:
            parts[key] = value
        elif key in _SCHEMAS:
            parts[key] = shown.schema(value, at)
        elif not shown._drops(key, ""):
            parts[key] = shown._member(key, value, at) if key == "name" else shown.text(value, at)
    shown.definition = parts
    return shown


def shown_answer(result: Any) -> Shown:
    """An answer in which a server describes itself: its lists without unusable entries, other texts without hidden
    characters. The answer itself if nothing is hidden in it.
    """
    if not isinstance(result, Mapping) or is_clean(result):
        return Shown(result)
    shown = Shown(None)
    shown.definition = {
        key: list(_entries(value, key, shown)) if key in _LISTS and isinstance(value, list) else shown.text(value, key)
        for key, value in result.items()
        if key != "nextCursor"
    }
    if "nextCursor" in result:
        shown.definition["nextCursor"] = result["nextCursor"]  # Only the server reads it, and it must be repeated.
    return shown


def _entries(values: list[Any], kind: str, found: Shown) -> Iterator[Any]:
    """The entries that can be shown; what is hidden in them and in the others is noted."""
    for value in values:
        one = Shown(None)
        name = value.get("name") if isinstance(value, Mapping) else None
        one.definition = one.entry(value, f"{kind} {visible(str(name)[:100])} ")
        found.removed += one.removed
        if one.fixed:
            found.removed.append(f"{one.fixed[0]}: it is left out of the list")
        else:
            yield one.definition


def is_clean(value: Any) -> bool:
    """Whether no text in a value has hidden characters."""
    if isinstance(value, str):
        return _is_clean_text(value)
    if isinstance(value, Mapping):
        return all(map(is_clean, value)) and all(map(is_clean, value.values()))
    return not isinstance(value, list) or all(map(is_clean, value))


def _is_clean_text(text: str) -> bool:
    return is_plain(text) or next(hidden_in(text), None) is None


def _texts(value: Any, at: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from _texts(one, f"{at}/{index}")
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield _below(at, key), str(key)
            yield from _texts(one, _below(at, key))


def _first_hidden(value: Any) -> str:
    return next(show_hidden(text) for _, text in _texts(value, "") if not _is_clean_text(text))


def _below(at: str, key: Any) -> str:
    """The place of a member. It is cut where it is long: a long name above many members would be repeated for each."""
    if len(at) > _MOST_PLACE:
        return at
    name = str(key)
    shown = visible(name[:_MOST_NAME].replace("~", "~0").replace("/", "~1"))
    return f"{at}/{shown}{'…' if len(name) > _MOST_NAME else ''}"
