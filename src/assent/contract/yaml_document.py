"""The one reader of YAML: values, the place of every value, and the text between them.

Plain words are read as in YAML 1.2, so that `no`, `1:30` and `2025-01-01` stay text and every value is plain JSON.
Values are built from the parser's events under bounds: what aliases repeat counts as if it were written out.

See ADR 0074.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from importlib import resources
from typing import Any, NamedTuple

import yaml
from yaml import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    MarkedYAMLError,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
    YAMLError,
)

from assent.errors import Fault, FaultsError

Path = tuple[Any, ...]

MOST_DEPTH = 64
MOST_VALUES = 100_000
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TEXT_TAGS = ("!", "tag:yaml.org,2002:str")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WHOLE = re.compile(r"[-+]?[0-9]{1,300}\Z")
_BASED = re.compile(r"0(?:o[0-7]{1,300}|x[0-9a-fA-F]{1,300})\Z")
_DECIMAL = re.compile(r"[-+]?(?:\.[0-9]{1,300}|[0-9]{1,300}(?:\.[0-9]{0,300})?)(?:[eE][-+]?[0-9]{1,300})?\Z")
_NO_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")
# JSON writes a character above U+FFFF as two escapes, which YAML does not support.
_PAIR = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")


class Node(NamedTuple):
    """Where a value is written: its line, its start and end in the text, and those of its key."""

    line: int
    begins: int
    ends: int
    flow: bool = False
    exact: bool = True
    """Whether the value ends at `ends`; the end of a block is where the next value begins."""
    key_begins: int = 0
    key_ends: int = 0
    column: int = 0


class _Built(NamedTuple):
    """A value, the number of values it is made of, its depth, and the event that ends it."""

    value: Any
    end: Any = None
    weight: int = 1
    height: int = 0


class YamlDocument:
    """A parsed YAML text that remembers the place of every path and refuses duplicate keys.

    With `gather`, duplicates are left in `faults` for the caller to report together with its own. With `merge`, the
    merge key `<<` is supported.
    """

    def __init__(
        self,
        text: str,
        file: str = "",
        *,
        gather: bool = False,
        merge: bool = False,
        most_values: int = MOST_VALUES,
        most_depth: int = MOST_DEPTH,
    ) -> None:
        self.text, self.file = _join_surrogates(text) if text.lstrip()[:1] == "{" else text, file
        self.nodes: dict[Path, Node] = {}
        self.faults: list[Fault] = []
        self._merge, self._most_values, self._most_depth = merge, most_values, most_depth
        self._anchors: dict[str, _Built] = {}
        self._scalars: list[tuple[int, int]] = []
        self._weight = 0
        self._invalid = f"not valid {_name_language(text, file.lower())}"
        try:
            self._events: Iterator[Any] = yaml.parse(self.text, Loader=_LOADER)
            self.value = self._read_document()
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else 0
            if mark and self.text[: mark.index + 1].endswith("\t"):
                raise self._refusal(f"{self._invalid}: it is indented with a tab", "Use spaces", line) from None
            raise self._refusal(f"{self._invalid}: {error.problem or error.context}", "", line) from None
        except (YAMLError, ValueError) as error:
            raise self._refusal(f"{self._invalid}: {str(error).splitlines()[0]}") from None
        if self.faults and not gather:
            raise FaultsError(self.faults)

    def locate(self, path: Path) -> tuple[str, int]:
        """File and line of a path, or of the nearest path that encloses it."""
        while path and path not in self.nodes:
            path = path[:-1]
        return self.file, self.nodes[path].line if path in self.nodes else 1

    def without_values(self) -> str:
        """The text with the hashes in its values masked, so that every remaining hash starts a comment."""
        parts: list[str] = []
        last = 0
        for begins, ends in self._scalars:
            parts += [self.text[last:begins], self.text[begins:ends].replace("#", "x")]
            last = ends
        return "".join(parts) + self.text[last:]

    def _refusal(self, message: str, remedy: str = "", line: int = 0) -> FaultsError:
        return FaultsError(Fault(message, remedy, file=self.file, line=line))

    def _refuse(self, event: Any, message: str, remedy: str) -> FaultsError:
        return self._refusal(message, remedy, event.start_mark.line + 1)

    def _read_document(self) -> Any:
        next(self._events)
        if isinstance(next(self._events), StreamEndEvent):
            return None
        value = self._build(next(self._events), ()).value
        next(self._events)
        after = next(self._events)
        if isinstance(after, DocumentStartEvent):
            raise self._refuse(after, "a second document begins here", "Put each into a file of its own")
        return value

    def _build(self, event: Any, path: Path, key: Any = None) -> _Built:
        built = self._value(event, path)
        start, named = event.start_mark, (key or event).start_mark
        block = event.style in ("|", ">") if isinstance(event, ScalarEvent) else _is_block(event)
        self.nodes[path] = Node(
            named.line + 1,
            start.index,
            (built.end or event).end_mark.index,
            getattr(event, "flow_style", False) is True,
            not block,
            named.index,
            (key or event).end_mark.index,
            named.column,
        )
        return built

    def _value(self, event: Any, path: Path) -> _Built:
        if isinstance(event, AliasEvent):
            return self._check_size(event, self._alias(event), path)
        if event.anchor:
            self._anchors.pop(event.anchor, None)
        if event.tag is not None and event.tag not in _TEXT_TAGS:
            raise self._refuse(event, f"the tag {event.tag[:60]} is not supported", "Remove it")
        if isinstance(event, ScalarEvent):
            built = self._check_size(event, _Built(self._scalar(event)), path)
        else:
            self._check_size(event, _Built(None), path)
            built = self._mapping(path) if isinstance(event, MappingStartEvent) else self._sequence(path)
        if event.anchor:
            self._anchors[event.anchor] = built._replace(end=None)
        return built

    def _check_size(self, event: Any, built: _Built, path: Path) -> _Built:
        """Refuse a document that would be too large or too deep, before it is built."""
        self._weight += built.weight
        if self._weight > self._most_values:
            message = f"more than {self._most_values} values, aliases counted"
            raise self._refuse(event, message, "Split it into several files")
        if len(path) + built.height > self._most_depth:
            raise self._refuse(event, f"nested deeper than {self._most_depth} levels", "Flatten it")
        return built

    def _alias(self, event: Any) -> _Built:
        built = self._anchors.get(event.anchor)
        if built is None:
            raise self._refuse(event, f"*{event.anchor} has no complete anchor before it", "Correct the alias")
        return built

    def _sequence(self, path: Path) -> _Built:
        items: list[_Built] = []
        while not isinstance(event := next(self._events), SequenceEndEvent):
            items.append(self._build(event, (*path, len(items))))
        return _build_collection([item.value for item in items], items, event)

    def _mapping(self, path: Path) -> _Built:
        found: dict[str, _Built] = {}
        merged: dict[str, _Built] = {}
        while not isinstance(event := next(self._events), MappingEndEvent):
            key = self._key(event)
            if key == "<<" and event.implicit[0]:
                merged = {**self._merge_fields(event, path), **merged}
            elif key in found:
                first, field = self.nodes[(*path, key)].line, ".".join(map(str, path))
                remedy, line = f"The first is on line {first}: keep one", event.start_mark.line + 1
                self.faults.append(Fault(f"{key} is declared twice", remedy, field, self.file, line))
                self._build(next(self._events), (*path, key, None))  # Its places must not replace those of the first.
            else:
                found[key] = self._build(next(self._events), (*path, key), event)
        held = {**merged, **found}
        return _build_collection({key: item.value for key, item in held.items()}, list(held.values()), event)

    def _merge_fields(self, key: Any, path: Path) -> dict[str, _Built]:
        """The fields that a merge key brings in; of several mappings the first wins."""
        if not self._merge:
            raise self._refuse(key, "merge keys are not supported", "Repeat the fields")
        built = self._build(next(self._events), (*path, "<<"), key)
        sources = built.value if isinstance(built.value, list) else [built.value]
        if not all(isinstance(source, dict) for source in sources):
            raise self._refuse(key, "a merge key needs a mapping, or a list of mappings", "Correct it")
        fields = {name: value for source in reversed(sources) for name, value in source.items()}
        return {name: _Built(value, height=built.height) for name, value in fields.items()}

    def _key(self, event: Any) -> str:
        if not isinstance(event, ScalarEvent):
            raise self._refuse(event, "a key is not plain text", "Write it as a word")
        return self._text(event)

    def _text(self, event: Any) -> str:
        self._scalars.append(self._span(event))
        text: str = event.value
        return text

    def _span(self, event: Any) -> tuple[int, int]:
        """The start and end of a value; the line that opens a block may have a comment."""
        begins, ends = event.start_mark.index, event.end_mark.index
        if event.style in ("|", ">"):
            opened = self.text.find("\n", begins, ends)
            begins = ends if opened < 0 else opened
        return begins, ends

    def _scalar(self, event: Any) -> Any:
        text = self._text(event)
        if not event.implicit[0]:
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _WHOLE.match(text):
            return int(text)
        if _BASED.match(text):
            return int(text, 0)
        number = float(text) if _DECIMAL.match(text) else math.nan if _NO_NUMBER.match(text) else None
        if number is not None and not math.isfinite(number):
            raise self._refuse(event, f"{text[:60]} cannot be written in JSON", "Write a finite number")
        return text if number is None else number


def packaged_yaml(package: str, name: str) -> Any:
    """The value of a YAML file that a package of ours contains."""
    return YamlDocument(resources.files(package).joinpath(name).read_text(encoding="utf-8"), name).value


def write_yaml(value: Any) -> str:
    """A value as YAML in block style, with its keys in their order."""
    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True))


def _join_surrogates(text: str) -> str:
    return _PAIR.sub(
        lambda pair: f"\\U{0x10000 + ((int(pair[1], 16) - 0xD800) << 10) + int(pair[2], 16) - 0xDC00:08x}", text
    )


def _is_block(event: Any) -> bool:
    return getattr(event, "flow_style", True) is not True


def _name_language(text: str, file: str) -> str:
    """The language that the author would name; a brace without a known file extension may be either."""
    if file.endswith(".json"):
        return "JSON"
    braced = text.lstrip()[:1] in ("{", "[") and not file.endswith((".yaml", ".yml"))
    return "JSON or YAML" if braced else "YAML"


def _build_collection(value: Any, items: list[_Built], end: Any) -> _Built:
    weight = 1 + sum(item.weight for item in items)
    return _Built(value, end, weight, 1 + max((item.height for item in items), default=0))
