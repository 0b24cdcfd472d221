"""How a tool's definition differs from the accepted one, graded by what the difference can do.

`wording` changes what people and models read, `schema` what may be sent and returned, `effect` what the tool is or
claims to be. A part that is not known counts as `effect`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from assent.core.pins import Definition, effect_of

Grade = Literal["wording", "schema", "effect"]
GRADES: tuple[Grade, ...] = ("wording", "schema", "effect")
_ABSENT: Any = object()
_TEXTS = frozenset({"description", "title", "examples", "$comment"})
_SCHEMAS = frozenset({"inputSchema", "outputSchema"})


@dataclass(frozen=True, slots=True)
class GradedChange:
    """One difference: where, of which grade, and both sides as text; None for a side that is not there."""

    grade: Grade
    at: str
    before: str | None
    after: str | None


def graded_changes(before: Definition | None, after: Definition | None) -> list[GradedChange]:
    """All differences, those of the effect first. A tool that is new or gone differs as a whole."""
    if before is None or after is None:
        whole = [None if one is None else _text(one) for one in (before, after)]
        return [GradedChange("effect", "/", whole[0], whole[1])]
    found = [_change(_grade(at.split("/")[1:]), at, one, other) for at, one, other in _walk(before, after)]
    effects = [_change("effect", f"effect{at}", *pair) for at, *pair in _walk(effect_of(before), effect_of(after))]
    return sorted([*effects, *found], key=lambda one: -GRADES.index(one.grade))


def worst_grade(changes: list[GradedChange]) -> Grade:
    return max((one.grade for one in changes), key=GRADES.index, default="wording")


def _grade(path: list[str]) -> Grade:
    head, last = path[0], path[-1]
    if head in ("description", "title", "icons") or path == ["annotations", "title"]:
        return "wording"
    if head in _SCHEMAS:
        is_text = last in _TEXTS and path[-2] not in ("properties", "$defs", "definitions", "patternProperties")
        return "wording" if is_text else "schema"
    return "effect"


def _walk(before: Any, after: Any, at: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}, key=str):
            place = f"{at}/{str(key).replace('~', '~0').replace('/', '~1')}"
            yield from _walk(before.get(key, _ABSENT), after.get(key, _ABSENT), place)
    elif type(before) is not type(after) or before != after:
        yield at, before, after


def _change(grade: Grade, at: str, before: Any, after: Any) -> GradedChange:
    sides = [None if one is _ABSENT else _text(one) for one in (before, after)]
    return GradedChange(grade, at, sides[0], sides[1])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
