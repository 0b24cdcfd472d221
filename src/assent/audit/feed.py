"""Activity feed: one sentence per finished call. Text from agents and servers cannot change its meaning (ADR 0067)."""

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from assent.audit.leaf import BadEntry
from assent.audit.leaf_reader import Leaf, parse_leaf, unpack
from assent.core.action_template import ActionTemplate
from assent.core.limited_dict import LimitedDict
from assent.core.question import visible

OPEN_CALLS = 10_000
ENDINGS = frozenset({"outcome", "read", "replay", "denial"})


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


@dataclass(frozen=True, slots=True)
class _Begun:
    """Facts of a call from its intent entry."""

    arguments: Mapping[str, object] | None
    would: tuple[str, ...] = ()


class Feed:
    """Follows a log and remembers each intent until its call ends. Templates are looked up by tool name."""

    def __init__(self, templates: Mapping[str, ActionTemplate]) -> None:
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


def _line(index: int, entry: Leaf, begun: _Begun, templates: Mapping[str, ActionTemplate]) -> FeedLine:
    facts, tool = entry.facts, str(entry.facts.get("tool", ""))
    state = facts.get("state")
    text, template = visible(tool or entry.kind), templates.get(tool)
    if template is not None:
        # The template says what was done, so it is used only for calls that succeeded.
        done = state == "succeeded" or (entry.kind == "read" and state is None)
        text = template.render(begun.arguments) if done else text + template.render_arguments(begun.arguments)
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


def _arguments(value: bytes | None) -> Mapping[str, object] | None:
    if value is None:
        return None
    try:
        parsed = orjson.loads(value)
    except orjson.JSONDecodeError:
        parsed = None
    return parsed if isinstance(parsed, dict) else {}
