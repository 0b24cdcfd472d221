"""What did the agents do, in sentences a person can read and hostile text cannot bend?"""

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import orjson

from assent.contract.digest import NotCanonicalError, canonical
from assent.core.render import visible

from .entries import Leaf, parse_leaf
from .values import BadEntry, unpack

TEMPLATE_LIMIT, VALUE_LIMIT, LINE_LIMIT, OPEN_CALLS = 500, 80, 400, 10_000
ENDINGS = frozenset({"outcome", "read", "replay", "denial"})
ERASED, ABSENT = "[erased]", "[not given]"

_PIECE = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_-]{0,63}(?:\.[A-Za-z0-9_]{1,64})*)\}|([^{}]+)")
_TOKEN = re.compile(r"[\w.@:/+#%&=~-]+")


class BadTemplate(ValueError):
    """An action template that cannot be rendered safely."""


@dataclass(frozen=True, slots=True)
class Template:
    """Literal text and the names of arguments, in turn."""

    pieces: tuple[tuple[str, bool], ...]

    @classmethod
    def parse(cls, text: str) -> "Template":
        if len(text) > TEMPLATE_LIMIT:
            raise BadTemplate(f"an action template has at most {TEMPLATE_LIMIT} characters")
        pieces, at = [], 0
        while at < len(text):
            match = _PIECE.match(text, at)
            if match is None:
                raise BadTemplate(
                    f"the template breaks at {text[at : at + 20]!r}: write {{name}} for an argument and"
                    " {{ or }} for a brace; nothing else may stand in braces"
                )
            literal = match[2] or match[0][:1]
            pieces.append((match[1], True) if match[1] else (literal, False))
            at = match.end()
        return cls(tuple(pieces))

    def render(self, values: Mapping[str, object] | None) -> str:
        """The sentence; None for values means that they were erased."""
        parts = [_shown(name, values) if is_name else visible(name) for name, is_name in self.pieces]
        return _cut("".join(parts), LINE_LIMIT)


@dataclass(frozen=True, slots=True)
class Line:
    index: int
    at: int
    text: str
    tool: str
    mode: str
    outcome: str
    open_world: bool


def _shown(name: str, values: Mapping[str, object] | None) -> str:
    if values is None:
        return ERASED
    value: object = values
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return ABSENT
        value = value[part]
    if not isinstance(value, str):
        try:
            text = canonical(value).decode()
        except NotCanonicalError:
            return ABSENT
        return _cut(visible(text[: VALUE_LIMIT + 1]), VALUE_LIMIT)
    text = _cut(visible(value[: VALUE_LIMIT + 1]), VALUE_LIMIT)
    # Words of their own get quotes, so that no argument can continue the sentence.
    return text if _TOKEN.fullmatch(text) else "\u201c" + re.sub("[\u201c\u201d]", "'", text) + "\u201d"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "\u2026"


class Feed:
    """Follows a log: remembers the arguments of what has begun until it ends. Templates go by the tool's name."""

    def __init__(self, templates: Mapping[str, Template]) -> None:
        self._templates = templates
        self._begun: OrderedDict[str, Mapping[str, object] | None] = OrderedDict()

    def take(self, index: int, leaf: bytes, blob: bytes | None) -> Line | None:
        """The line of a call that ends with this entry."""
        try:
            entry, values = parse_leaf(leaf), unpack(blob)[0]
        except BadEntry:
            return None
        claim, own = str(entry.facts.get("claim", "")), "arguments" in entry.commitments
        arguments = _arguments(values.get("arguments")) if own else self._begun.get(claim, {})
        if entry.kind == "intent" and claim:
            self._begun[claim] = arguments
            if len(self._begun) > OPEN_CALLS:
                self._begun.popitem(last=False)
        if entry.kind not in ENDINGS:
            return None
        self._begun.pop(claim, None)
        return _line(index, entry, arguments, self._templates)


def feed(rows: Iterable[tuple[int, bytes, bytes | None]], templates: Mapping[str, Template]) -> Iterator[Line]:
    """A line per call that ended: rows are index, leaf, packed values."""
    following = Feed(templates)
    return (line for row in rows if (line := following.take(*row)) is not None)


def _line(index: int, entry: Leaf, arguments: Mapping[str, object] | None, templates: Mapping[str, Template]) -> Line:
    facts, tool = entry.facts, str(entry.facts.get("tool", ""))
    text = templates[tool].render(arguments) if tool in templates else visible(tool or entry.kind)
    outcome = str(facts.get("state") or facts.get("code") or entry.kind)
    return Line(index, entry.at, text, tool, str(facts.get("mode", "live")), outcome, bool(facts.get("open_world")))


def open_world(lines: Iterable[Line]) -> Iterator[Line]:
    """Only the calls that reached beyond what the tool's owner controls."""
    return (line for line in lines if line.open_world)


def _arguments(value: bytes | None) -> Mapping[str, object] | None:
    if value is None:
        return None
    try:
        parsed = orjson.loads(value)
    except orjson.JSONDecodeError:
        parsed = None
    return parsed if isinstance(parsed, dict) else {}
