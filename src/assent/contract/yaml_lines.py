"""A YAML reader that remembers the line of every value.

Plain words are read as in YAML 1.2, so that `no`, `1:30` and `2025-01-01` stay text and every value is plain JSON.
Values are built from the parser's events under bounds: what aliases repeat counts as if it were written out.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import yaml

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
# JSON writes a character above U+FFFF as two escapes, which YAML does not support.
_PAIR = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_NO_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")


class _Built(NamedTuple):
    """A value, the number of values it is made of, and its depth."""

    value: Any
    weight: int = 1
    height: int = 0


class YamlDocument:
    """A parsed YAML text that remembers the line of every path and refuses duplicate keys.

    With `gather`, duplicates are left in `faults` for the caller to report together with its own.
    """

    def __init__(self, text: str, file: str = "", *, gather: bool = False) -> None:
        self.file = file
        self.lines: dict[Path, int] = {}
        self.faults: list[Fault] = []
        self._anchors: dict[str, _Built] = {}
        self._weight = 0
        self._invalid = f"not valid {_name_language(text, file.lower())}"
        try:
            self._events = yaml.parse(_join_surrogates(text) if text.lstrip()[:1] == "{" else text, Loader=_LOADER)
            self.value = self._read_document()
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else 0
            raise self._refusal(f"{self._invalid}: {error.problem or error.context}", "", line) from None
        except (yaml.YAMLError, ValueError) as error:
            raise self._refusal(f"{self._invalid}: {str(error).splitlines()[0]}") from None
        if self.faults and not gather:
            raise FaultsError(self.faults)

    def locate(self, path: Path) -> tuple[str, int]:
        """File and line of a path, or of the nearest path that encloses it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.file, self.lines.get(path, 1)

    def _refusal(self, message: str, remedy: str = "", line: int = 0) -> FaultsError:
        return FaultsError(Fault(message, remedy, file=self.file, line=line))

    def _refuse(self, event: Any, message: str, remedy: str) -> FaultsError:
        return self._refusal(message, remedy, event.start_mark.line + 1)

    def _read_document(self) -> Any:
        next(self._events)
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return None
        value = self._build(next(self._events), ()).value
        next(self._events)
        after = next(self._events)
        if isinstance(after, yaml.DocumentStartEvent):
            raise self._refuse(after, "a second document begins here", "Put each into a file of its own")
        return value

    def _build(self, event: Any, path: Path) -> _Built:
        self.lines.setdefault(path, event.start_mark.line + 1)
        if isinstance(event, yaml.AliasEvent):
            return self._check_size(event, self._alias(event), path)
        if event.anchor:
            self._anchors.pop(event.anchor, None)
        if event.tag is not None and event.tag not in _TEXT_TAGS:
            raise self._refuse(event, f"the tag {event.tag[:60]} is not supported", "Remove it")
        if isinstance(event, yaml.ScalarEvent):
            built = self._check_size(event, _Built(self._scalar(event)), path)
        else:
            self._check_size(event, _Built(None), path)
            built = self._mapping(path) if isinstance(event, yaml.MappingStartEvent) else self._sequence(path)
        if event.anchor:
            self._anchors[event.anchor] = built
        return built

    def _check_size(self, event: Any, built: _Built, path: Path) -> _Built:
        """Refuse a document that would be too large or too deep, before it is built."""
        self._weight += built.weight
        if self._weight > MOST_VALUES:
            raise self._refuse(event, f"more than {MOST_VALUES} values, aliases counted", "Split it into several files")
        if len(path) + built.height > MOST_DEPTH:
            raise self._refuse(event, f"nested deeper than {MOST_DEPTH} levels", "Flatten it")
        return built

    def _alias(self, event: Any) -> _Built:
        built = self._anchors.get(event.anchor)
        if built is None:
            raise self._refuse(event, f"*{event.anchor} has no complete anchor before it", "Correct the alias")
        return built

    def _sequence(self, path: Path) -> _Built:
        items: list[_Built] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._build(event, (*path, len(items))))
        return _build_collection([item.value for item in items], items)

    def _mapping(self, path: Path) -> _Built:
        found: dict[str, _Built] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key, line = self._key(event), event.start_mark.line + 1
            if key in found:
                first, field = self.lines[(*path, key)], ".".join(map(str, path))
                remedy = f"The first is on line {first}: keep one"
                self.faults.append(Fault(f"{key} is declared twice", remedy, field, self.file, line))
                self._build(next(self._events), (*path, key, None))  # Its lines must not replace those of the first.
                continue
            self.lines[(*path, key)] = line
            found[key] = self._build(next(self._events), (*path, key))
        return _build_collection({key: item.value for key, item in found.items()}, list(found.values()))

    def _key(self, event: Any) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            raise self._refuse(event, "a key is not plain text", "Write it as a word")
        if event.value == "<<" and event.implicit[0]:
            raise self._refuse(event, "merge keys are not supported", "Repeat the fields")
        text: str = event.value
        return text

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
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


def without_values(text: str) -> str:
    """The text line by line with the hashes in its values masked, so that every remaining hash starts a comment."""
    text = _join_surrogates(text) if text.lstrip()[:1] == "{" else text
    parts: list[str] = []
    last = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.ScalarEvent):
            begins, ends = _span(event, text)
            parts += [text[last:begins], text[begins:ends].replace("#", "x")]
            last = ends
    return "".join(parts) + text[last:]


def _span(event: Any, text: str) -> tuple[int, int]:
    """The start and end of a value; the line that opens a block may have a comment."""
    begins, ends = event.start_mark.index, event.end_mark.index
    if event.style in ("|", ">"):
        begins = text.find("\n", begins, ends) if "\n" in text[begins:ends] else ends
    return begins, ends


def _name_language(text: str, file: str) -> str:
    """The language that the author would name; a brace without a known file extension may be either."""
    if file.endswith(".json"):
        return "JSON"
    braced = text.lstrip()[:1] in ("{", "[") and not file.endswith((".yaml", ".yml"))
    return "JSON or YAML" if braced else "YAML"


def _join_surrogates(text: str) -> str:
    return _PAIR.sub(
        lambda pair: f"\\U{0x10000 + ((int(pair[1], 16) - 0xD800) << 10) + int(pair[2], 16) - 0xDC00:08x}", text
    )


def _build_collection(value: Any, items: list[_Built]) -> _Built:
    weight = 1 + sum(item.weight for item in items)
    return _Built(value, weight, 1 + max((item.height for item in items), default=0))
