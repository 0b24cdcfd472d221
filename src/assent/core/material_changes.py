"""The changes of a definition that matter even if no person pinned it: what a call can do, and what a model reads.

Material are arguments that are new or accept more, another effect, hints that promise more than before, and texts that
give the model orders or hide characters. Everything else is wording.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assent.contract.infer import classify
from assent.contract.pointers import escaped
from assent.contract.tool_listing import read_claims
from assent.core.pins import Attacks, Definition, no_attacks
from assent.core.question import visible

_EFFECT = ("tier", "risk", "destructive", "overwrites", "open_world")
_TEXTS = frozenset({"description", "title", "examples", "$comment", "$schema", "$id", "deprecated"})
_NAMED = frozenset({"properties", "$defs", "definitions", "patternProperties"})
"""Keywords whose members are schemas by name."""
_LEAST = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
_MOST = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})
_DEEPEST = 40
_MOST_LINES = 20


def material_changes(before: Definition, after: Definition, attacks: Attacks = no_attacks) -> list[str]:
    """What changed materially, one line each; empty if only the wording changed."""
    lines = list(_wider(before.get("inputSchema", {}), after.get("inputSchema", {}), "/inputSchema", 0))
    lines += [*_other_effect(before, after), *_laxer_hints(before, after)]
    known = attacks(before)
    lines += [one for one in attacks(after) if one not in known]
    more = len(lines) - _MOST_LINES
    return [*lines[:_MOST_LINES], *([f"and {more} more"] if more > 0 else [])]


def _other_effect(before: Definition, after: Definition) -> Iterator[str]:
    old, new = classify(before), classify(after)
    for name in _EFFECT:
        if (was := getattr(old, name)) != (now := getattr(new, name)):
            yield f"its inferred effect: {name} was {_word(was)} and is {_word(now)}"


def _laxer_hints(before: Definition, after: Definition) -> Iterator[str]:
    """The hints that promise less harm than before."""
    old, new = read_claims(before), read_claims(after)
    if new.read_only is True and old.read_only is not True:
        yield "it now says that it only reads"
    if old.destructive is not False and new.destructive is False:
        yield "it now says that it is not destructive"
    if old.open_world is not False and new.open_world is False:
        yield "it now says that it reaches nothing outside"


def _wider(old: Any, new: Any, at: str, depth: int) -> Iterator[str]:
    """Where a schema accepts what it did not accept before. What is not understood counts as wider."""
    if old == new:
        return
    if depth > _DEEPEST or not isinstance(old, Mapping) or not isinstance(new, Mapping):
        if new is not False and old is not True:
            yield f"{visible(at)} accepts something else"
        return
    for key in sorted({*old, *new} - _TEXTS, key=str):
        was, now = old.get(key), new.get(key)
        if was == now and (key in old) == (key in new):
            continue
        place = f"{at}/{escaped(str(key))}"
        if key in _NAMED:
            yield from _wider_members(was or {}, now or {}, key, place, depth)
        elif key == "items" and was is not None and now is not None:
            yield from _wider(was, now, place, depth + 1)
        elif not _is_narrower(key, was, now, key in old, key in new):
            yield f"{visible(place)} accepts something else"


def _wider_members(was: Any, now: Any, key: str, at: str, depth: int) -> Iterator[str]:
    if not isinstance(was, Mapping) or not isinstance(now, Mapping):
        yield f"{visible(at)} accepts something else"
        return
    for name, schema in now.items():
        if name in was:
            yield from _wider(was[name], schema, f"{at}/{escaped(str(name))}", depth + 1)
        elif key == "properties":
            yield f"{visible(str(name))} is a new argument"


def _is_narrower(key: str, was: Any, now: Any, there_before: bool, there_now: bool) -> bool:
    """Whether another value of a keyword accepts nothing that was not accepted before."""
    if key == "required":  # An argument that may be left out is not another argument.
        return True
    if key in ("enum", "type"):
        old, new = _options(was), _options(now)
        return there_now and (not there_before or all(one in old for one in new))
    if key in _MOST | _LEAST and _is_number(now) and (_is_number(was) or not there_before):
        return not there_before or (now <= was if key in _MOST else now >= was)
    if key == "additionalProperties":
        return now is False
    return not there_before and key in ("const", "pattern", "format", "uniqueItems", "multipleOf")


def _options(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _word(value: Any) -> str:
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
