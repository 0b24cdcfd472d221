"""Finds the values of named fields in texts that are not JSON, and in JSON that names them by values.

Reprs, settings, YAML, XML, cut-off JSON, `name: value` in a sentence, CSV and tables with a header are read. Where the
end of a value is not clear, more is taken for the value rather than less.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from assent.contract.member_names import fold
from assent.rules.guards.detectors.detector import PlainText
from assent.rules.guards.patterns import find_in_windows

_QUOTES = r"&quot;|&#3[49];|%2[27]"
_AFTER = re.compile(
    rf"(?:\[\w{{0,20}}\]|\.\w{{1,20}}){{0,3}}(?:[\\\"'`*_\])]|{_QUOTES}){{0,8}}[ \t]{{0,20}}"
    r"(?:=>|:=|->|::?|=|\||\u2192|%3[ad]|&#58;|\\u003[ad])[ \t]{0,40}[*_]{0,4}[ \t]{0,20}",
    re.IGNORECASE,
)
_AFTER_OPTION = re.compile(r"[ \t]{1,4}(?=[^\s-])")
_AFTER_PAIR = re.compile(r"[\"'`]\s{0,4},\s{0,4}(?=[^\s,()\[\]]{1,300}[)\]]|([\"'`])[^\"'`]{0,2000}\1\s{0,4}[)\]])")
_OPENING = re.compile(rf"(\\{{0,8}})(\"\"\"|'''|[\"'`\u201c\u2018\u00ab]|{_QUOTES})")
_CLOSING = {"\u201c": "\u201d", "\u2018": "\u2019", "\u00ab": "\u00bb"}
_BRACKETS = {"{": "}", "[": "]", "(": ")"}
_BRACKET = re.compile(r"[{}\[\]()]")
_AT_LINE_START = re.compile(r"[\s\-*+|>#\"'`.\d)]{0,30}\Z")
_NEXT_NAME = re.compile(r"[,;&]\s{0,4}[\w\"'.-]{1,60}\s{0,4}[:=]|[\r\n]|[)\]}>](?=[\s,;.)\]}>]|\Z)")
_EMPTY = re.compile(r"[ \t|>+-]{0,40}(?=[\r\n]|\Z)")
_LINE = re.compile(r"[^\r\n]*")
_RULE = re.compile(r"[\s|+:=_\u2500-\u257f-]*")
_DELIMITERS = ("\t", "|", ",", ";", "  ")
_HEADER_CELL = re.compile(r"<th\b[^<>]{0,200}>[^<]{0,200}</th", re.IGNORECASE)
_DATA_CELL = re.compile(r"<td\b[^<>]{0,200}>([^<]*)", re.IGNORECASE)
_ELEMENT = re.compile(r"<(/?)((?:[\w.-]{1,60}:)?)\Z")
# Behind the name: the end of a tag, or of an element and the beginning of the next one.
_AFTER_TAG = re.compile(r"[\"']?\s{0,4}(?:(/?>)|</[\w:.-]{1,60}>)\s{0,40}:?\s{0,4}(?:<(?!/)[^<>]{1,200}>\s{0,40}){0,4}")
_AFTER_ATTRIBUTE = re.compile(r"[\"']?\s{1,4}(?:value|content|text|data)\s{0,4}=\s{0,4}", re.IGNORECASE)
_NEXT_LINE = re.compile(r"(\r\n|\r|\n)([^\r\n]*)")
_OPENED_PAIR = re.compile(r"[(\[]\s{0,4}[\"'`]\Z")
_NAME_AND_SIGN = re.compile(r"[:=]|^\s*$")
_NEAR = 300
MOST_BRACKETS = 100_000


class Found(NamedTuple):
    """Where a name stands, and where its value begins and ends."""

    name: int
    start: int
    end: int


class NamedValues:
    """Finds values by the names of their fields, in any case."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = frozenset(map(fold, names))
        longest_first = sorted(names, key=len, reverse=True)
        self._name = _any_of(map(re.escape, longest_first))
        self._escaped_name = _any_of("".join(map(_escaped, name)) for name in longest_first)

    @classmethod
    def of(cls, fields: Sequence[str]) -> NamedValues | None:
        """Finds the values of these fields, of pointers by their last name; None if they have no names."""
        names = [
            name for field in fields if not (name := field.rpartition("/")[2]).isdecimal() and name not in ("", "*")
        ]
        return cls(names) if names else None

    def find(self, text: str) -> list[Found]:
        """The values in order, without overlaps; characters that draw nothing and compatibility forms do not matter."""
        if text.isascii():
            return self._find(text)
        plain = PlainText(text)
        places = (
            (plain.span(one.name, one.name + 1)[0], *plain.span(one.start, one.end)) for one in self._find(plain.text)
        )
        return [Found(*place) for place in places]

    def _find(self, text: str) -> list[Found]:
        found: list[Found] = []
        done, at, line, looked = 0, 0, 0, -1
        pattern = self._escaped_name if "\\" in text or "%" in text else self._name
        for name in find_in_windows(pattern, text, 400):
            line = max(text.rfind("\n", at, name.start()) + 1, text.rfind("\r", at, name.start()) + 1, line)
            at = name.start()
            if at < done:
                continue
            for one in self._values(text, name, line, is_first=line != looked):
                if one.start >= done and one.end > one.start:
                    found.append(one)
                    done = one.end
            looked = line
        return found

    def _values(self, text: str, name: re.Match[str], line: int, *, is_first: bool) -> Iterator[Found]:
        start, end = name.span()
        before = text[max(0, start - _NEAR) : start]
        in_tag = before.rfind("<") > before.rfind(">")
        if in_tag and (opened := _ELEMENT.search(before)) is not None:
            if not opened[1]:
                yield from (Found(start, *span) for span in _element(text, opened[2] + name[0], end))
            return
        after = _AFTER.match(text, end) or _AFTER_ATTRIBUTE.match(text, end)
        if after is None and before.endswith("-"):
            after = _AFTER_OPTION.match(text, end)
        if after is None and _OPENED_PAIR.search(before):
            after = _AFTER_PAIR.match(text, end)
        if after is not None:
            yield Found(start, *_value(text, start, after.end(), line))
        elif (tag := _AFTER_TAG.match(text, end)) is not None and (in_tag or not tag[1]):
            yield Found(start, tag.end(), _until(text, "<", tag.end()))
        if is_first and (after is None or "|" in after[0]):
            yield from (Found(start, *span) for span in [*_pair(text, end, line), *self._columns(text, start, line)])

    def _columns(self, text: str, at: int, begin: int) -> Iterator[tuple[int, int]]:
        """The cells below the names that are cells of a header, for all names of its line."""
        headers = _HEADER_CELL.finditer(text, max(0, at - _NEAR), at + _NEAR)
        if any(cell.start() <= at < cell.end() for cell in headers):
            yield from (cell.span(1) for cell in _DATA_CELL.finditer(text, at) if cell[1].strip())
            return
        for delimiter in _DELIMITERS:
            header = [fold(text[a:b].strip(" \"'`*_")) for a, b in _cells(text, begin, delimiter)]
            picked = [place for place, name in enumerate(header) if name in self._names]
            if picked and (len(header) > 1 or delimiter == "  "):
                yield from _below(text, begin + len(_line_at(text, begin)), delimiter, picked, len(header))
                return


def _any_of(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"(?:(?<!\w)(?<!\w-)|(?<=%[0-9a-f][0-9a-f]))(?:{'|'.join(names)})(?![\w-])", re.IGNORECASE)


def _escaped(letter: str) -> str:
    """A letter, also as JSON, programs and links write it: `\\u0073`, `\\x73`, `%73`."""
    codes = "|".join(f"{ord(form):02x}" for form in (letter.lower(), letter.upper()) if len(form) == 1)
    return rf"(?:{re.escape(letter)}|(?:\\{{1,8}}(?:u00|x)|%)(?:{codes}))"


def _pair(text: str, end: int, begin: int) -> Iterator[tuple[int, int]]:
    """The second cell of a line of two whose first one is the name: a row below others, or a line for itself."""
    for delimiter in _DELIMITERS:
        cells = _cells(text, begin, delimiter)
        if len(cells) == 2 and begin <= end <= cells[0][1] and not text[end : cells[0][1]].strip(" \"'`"):
            above = text[text.rfind("\n", 0, max(0, begin - 1)) + 1 : begin].strip()
            below = _line_at(text, _next_line(text, cells[1][1])).strip()
            if above or not below:
                yield _inside(text, cells[1])
            return


def _line_at(text: str, begin: int) -> str:
    found = _LINE.match(text, begin)
    return found[0] if found is not None else ""


def _until(text: str, sign: str, at: int) -> int:
    found = text.find(sign, at)
    return found if found >= 0 else len(text)


def _element(text: str, tag: str, end: int) -> Iterator[tuple[int, int]]:
    """What is inside an XML element; one that is cut off goes to the end of the text."""
    opened = text.find(">", end)
    if opened >= 0 and text[opened - 1] != "/":
        closed = re.compile(rf"</{re.escape(tag)}\s*>", re.IGNORECASE).search(text, opened)
        yield opened + 1, closed.start() if closed is not None else len(text)


def _value(text: str, name: int, at: int, line: int) -> tuple[int, int]:
    """Where a value begins and ends that stands behind a name and a sign."""
    quote = _OPENING.match(text, at)
    if quote is not None:
        return quote.end(), _quoted_end(text, quote)
    if text[at : at + 1] in _BRACKETS:
        return at, _bracket_end(text, at)
    if (rest := _EMPTY.match(text, at)) is not None:
        return _block(text, rest.end(), indent=_indent(text[line:name]))
    if name - line <= _NEAR and _AT_LINE_START.fullmatch(text[line:name]):
        line_end = at + len(_line_at(text, at))
        if "&" not in text[at:line_end]:
            return at, line_end
    following = _NEXT_NAME.search(text, at)
    return at, following.start() if following is not None else len(text)


def _quoted_end(text: str, quote: re.Match[str]) -> int:
    """Where a quoted text ends: at the same quote behind as many backslashes; a text that is cut off, at its end."""
    escape, sign = len(quote[1]), _CLOSING.get(quote[2], quote[2])
    at = quote.end()
    while (at := text.find(sign, at)) >= 0:
        escapes = at - len(text[max(0, at - _NEAR) : at].rstrip("\\")) - max(0, at - _NEAR)
        is_doubled = not escape and sign in "\"'" and text.startswith(sign, at + 1) and at > quote.end()
        if not is_doubled and (escapes == escape if escape else escapes % 2 == 0):
            return at - escape
        at += 2 if is_doubled else 1
    return len(text)


def _bracket_end(text: str, at: int) -> int:
    depth = 0
    for count, sign in enumerate(_BRACKET.finditer(text, at)):
        depth += 1 if sign[0] in _BRACKETS else -1
        if depth == 0:
            return sign.end()
        if count > MOST_BRACKETS:
            break
    return len(text)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _block(text: str, at: int, indent: int) -> tuple[int, int]:
    """The lines below a name that are indented further, or are items of a list."""
    end, start = at, 0
    for line in _NEXT_LINE.finditer(text, at):
        plain = line[2].strip()
        is_below = _indent(line[2]) > indent or (_indent(line[2]) == indent and plain.startswith("- "))
        if plain and not is_below:
            break
        start, end = start or (line.start(2) if plain else 0), line.end() if plain else end
    if start == 0 and (following := _NEXT_LINE.match(text, at)) and not _NAME_AND_SIGN.search(following[2]):
        return following.span(2)
    return start or end, end


def _cells(text: str, begin: int, delimiter: str) -> list[tuple[int, int]]:
    """The cells of one record: quoted ones may hold the delimiter and line ends."""
    if delimiter == "  ":
        return [(begin + cell.start(), begin + cell.end()) for cell in _COLUMNS.finditer(_line_at(text, begin))]
    found, at = [], begin
    cell = _CELLS[delimiter]
    while (one := cell.match(text, at)) is not None:
        found.append(one.span(1))
        at = one.end()
        if text[at : at + 1] != delimiter:
            break
        at += 1
    return found


def _below(text: str, at: int, delimiter: str, picked: list[int], width: int) -> Iterator[tuple[int, int]]:
    """The picked cells of the records below a header. A record of another width is taken as a whole."""
    is_first = True
    while (begin := _next_line(text, at)) < len(text):
        line = _line_at(text, begin)
        at = begin + len(line)
        if _RULE.fullmatch(line):
            if not line.strip():
                return
            continue
        cells = _cells(text, begin, delimiter)
        at = max(at, cells[-1][1] if cells else at)
        at += len(_line_at(text, at))
        if is_first and len(cells) != width:
            return
        is_first = False
        if len(cells) == width:
            yield from (_inside(text, cells[place]) for place in picked)
        else:
            yield begin, at


def _next_line(text: str, at: int) -> int:
    return at + (2 if text.startswith("\r\n", at) else 1)


def _inside(text: str, cell: tuple[int, int]) -> tuple[int, int]:
    """A cell without the spaces and quotes around its value."""
    start, end = cell
    given = text[start:end]
    return start + len(given) - len(given.lstrip(' \t"')), end - (len(given) - len(given.rstrip(' \t"')))


_COLUMNS = re.compile(r"\S+(?: \S+)*")
_CELLS = {one: re.compile(rf"([ ]*\"(?:[^\"]|\"\")*\"[ ]*|[^{re.escape(one)}\r\n]*)") for one in "\t|,;"}


# JSON that names fields by values: `{columns, rows}`, rows below a header, `{name, value}`.
Names = Callable[[str], bool]
"""Whether a field of this name is meant."""
VALUES = frozenset({"value", "values", "val", "content", "text", "data", "answer", "string_value", "stringvalue", "v"})
_LABELS = ("name", "key", "k", "field", "column", "label", "property", "attribute", "header", "id", "title", "type")


class Columns(NamedTuple):
    """The places of named columns in each row of a table, and the list that names them."""

    header: list[Any]
    places: frozenset[int]


def is_labelled(value: Mapping[str, Any], names: Names) -> bool:
    """Whether an object says in one member which field its other member is the value of."""
    return any(isinstance(item, str) and names(item) and fold(key) in _LABELS for key, item in value.items())


def columns_of(value: Mapping[str, Any], names: Names) -> Columns | None:
    """The named columns of an object that has a list of names beside lists of values."""
    lists = [item for item in value.values() if isinstance(item, list)]
    return next((found for one in lists if (found := _named_places(one, names)) is not None), None) if lists else None


def is_pair(item: list[Any], names: Names) -> bool:
    """Whether a list is the name of a field and its value."""
    return len(item) == 2 and isinstance(item[0], str) and names(item[0])


def header_of(rows: list[Any], names: Names) -> Columns | None:
    """The named columns of rows whose first one is a header."""
    return _named_places(rows[0], names) if len(rows) > 1 and isinstance(rows[0], list) else None


def _named_places(header: list[Any], names: Names) -> Columns | None:
    titles = [_title(one) for one in header]
    if not titles or None in titles:
        return None
    places = frozenset(place for place, title in enumerate(titles) if title is not None and names(title))
    return Columns(header, places) if places else None


def _title(column: Any) -> str | None:
    """What a column is called: a text, or an object that names it."""
    if isinstance(column, Mapping):
        return next((item for key, item in column.items() if fold(key) in _LABELS and isinstance(item, str)), None)
    return column if isinstance(column, str) else None
