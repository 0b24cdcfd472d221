"""Activity feed: one sentence per finished call. Text from agents and servers cannot change its meaning."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import orjson

from assent.audit.leaf import Leaf, parse_leaf
from assent.audit.leaf_values import BadEntry, unpack
from assent.contract.digest import NotCanonicalError, canonical
from assent.core.limited_dict import LimitedDict
from assent.core.render import visible

TEMPLATE_LIMIT, VALUE_LIMIT, LINE_LIMIT, OPEN_CALLS = 500, 80, 400, 10_000
ENDINGS = frozenset({"outcome", "read", "replay", "denial"})
ERASED, ABSENT = "[erased]", "[not given]"

_PIECE = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_-]{0,63}(?:\.[A-Za-z0-9_]{1,64})*)\}|([^{}]+)")
_TOKEN = re.compile(r"[\w.@:/+#%&=~-]+")


class BadTemplate(ValueError):
    """An action template that cannot be rendered safely."""


@dataclass(frozen=True, slots=True)
class FeedTemplate:
    """An action template: literal text and argument names in turn."""

    pieces: tuple[tuple[str, bool], ...]

    @classmethod
    def parse(cls, text: str) -> "FeedTemplate":
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

    def listed(self, values: Mapping[str, object] | None) -> str:
        """Return the arguments by name without the sentence, for a call that did not do what the sentence says."""
        names = dict.fromkeys(text for text, is_name in self.pieces if is_name)
        parts = ", ".join(f"{name}: {_format_argument(name, values)}" for name in names)
        return _truncate(f" ({parts})", LINE_LIMIT) if parts else ""

    def render(self, values: Mapping[str, object] | None) -> str:
        """Return the sentence; None for `values` means that they were erased."""
        parts = [_format_argument(name, values) if is_name else visible(name) for name, is_name in self.pieces]
        return _truncate("".join(parts), LINE_LIMIT)


@dataclass(frozen=True, slots=True)
class FeedLine:
    """One finished call."""

    index: int
    at: int
    text: str
    tool: str
    mode: str
    outcome: str
    open_world: bool
    would: tuple[str, ...] = ()
    """What would have stopped the call outside observe mode."""
    ran: bool = True


def _format_argument(name: str, values: Mapping[str, object] | None) -> str:
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
        return _truncate(visible(text[: VALUE_LIMIT + 1]), VALUE_LIMIT)
    text = _truncate(visible(value[: VALUE_LIMIT + 1]), VALUE_LIMIT)
    # Quote free text, so that an argument cannot continue the sentence.
    return text if _TOKEN.fullmatch(text) else "\u201c" + re.sub("[\u201c\u201d]", "'", text) + "\u201d"


def _truncate(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "\u2026"


@dataclass(frozen=True, slots=True)
class _Begun:
    """Facts of a call from its intent entry."""

    arguments: Mapping[str, object] | None
    would: tuple[str, ...] = ()


class Feed:
    """Follows a log and remembers each intent until its call ends. Templates are looked up by tool name."""

    def __init__(self, templates: Mapping[str, FeedTemplate]) -> None:
        self._templates = templates
        self._begun = LimitedDict[str, _Begun](OPEN_CALLS)

    def take(self, index: int, leaf: bytes, blob: bytes | None) -> FeedLine | None:
        """Return the line of the call that ends with this entry, or None."""
        try:
            entry, values = parse_leaf(leaf), unpack(blob)[0]
        except BadEntry:
            return None
        claim, own = str(entry.facts.get("claim", "")), "arguments" in entry.commitments
        begun = self._begun.get(claim, _Begun({}))
        arguments = _arguments(values.get("arguments")) if own else begun.arguments
        if entry.kind == "intent" and claim:
            self._begun[claim] = _Begun(arguments, _observed_refusals(entry))
        if entry.kind not in ENDINGS:
            return None
        self._begun.pop(claim, None)
        return _line(index, entry, _Begun(arguments, begun.would + _observed_refusals(entry)), self._templates)


def feed(rows: Iterable[tuple[int, bytes, bytes | None]], templates: Mapping[str, FeedTemplate]) -> Iterator[FeedLine]:
    """Yield one line per finished call; a row has index, leaf and packed values."""
    following = Feed(templates)
    return (line for row in rows if (line := following.take(*row)) is not None)


def _line(index: int, entry: Leaf, begun: _Begun, templates: Mapping[str, FeedTemplate]) -> FeedLine:
    facts, tool = entry.facts, str(entry.facts.get("tool", ""))
    state = facts.get("state")
    text, template = visible(tool or entry.kind), templates.get(tool)
    if template is not None:
        # The template says what was done, so it is used only for calls that succeeded.
        done = state == "succeeded" or (entry.kind == "read" and state is None)
        text = template.render(begun.arguments) if done else text + template.listed(begun.arguments)
    outcome, outside = str(state or facts.get("code") or entry.kind), bool(facts.get("open_world"))
    return FeedLine(
        index,
        entry.at,
        text,
        tool,
        str(facts.get("mode", "live")),
        outcome,
        outside,
        begun.would,
        entry.kind != "denial",
    )


def _observed_refusals(entry: Leaf) -> tuple[str, ...]:
    return tuple(entry.facts.get("would", ()))


def open_world(lines: Iterable[FeedLine]) -> Iterator[FeedLine]:
    """Yield the calls that reached outside the control of the tool's owner."""
    return (line for line in lines if line.open_world)


def _arguments(value: bytes | None) -> Mapping[str, object] | None:
    if value is None:
        return None
    try:
        parsed = orjson.loads(value)
    except orjson.JSONDecodeError:
        parsed = None
    return parsed if isinstance(parsed, dict) else {}
