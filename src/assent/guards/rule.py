"""The base class of guards: where they apply, and which values they check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from assent.core.call import Call
from assent.core.match import Match
from assent.core.member_names import fold

Denial = tuple[str, str]


class GuardRule(BaseModel):
    """A configured rule on arguments. `fields` names the arguments that it checks; none means all of them."""

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(cached_property,))

    name: ClassVar[str]
    texts_alone: ClassVar[bool] = False
    """Whether it checks only texts when it looks at all arguments."""
    match: Match = Match()
    fields: tuple[str, ...] = Field(default=())

    @cached_property
    def _field_spellings(self) -> frozenset[str]:
        return frozenset(map(fold, self.fields))

    @property
    def rule(self) -> str:
        return self.name

    def applies(self, call: Call) -> bool:
        return self.match.holds(call)

    def denies(self, arguments: Mapping[str, Any]) -> Denial | None:
        """Return the first objection. Most calls have none, so paths are built only once there is one."""
        looked_at: Iterable[Any] = arguments.values()
        if self.fields:
            looked_at = [value for name, value in arguments.items() if fold(name) in self._field_spellings]
        passed = _NO_TEXTS if self.texts_alone and not self.fields else _NONE
        return self._first_denial(arguments) if _any_objection(looked_at, self.objection, passed) else None

    def _first_denial(self, arguments: Mapping[str, Any]) -> Denial | None:
        for field, value in self.values(arguments):
            reason = self.objection(value)
            if reason is not None:
                return field, reason
        return None

    def objection(self, value: Any) -> str | None:
        """Why this value is not allowed, or None."""
        raise NotImplementedError

    def values(self, arguments: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """Every scalar in the checked fields, with its path. Keys of free-form objects count."""
        found: list[tuple[str, Any]] = []
        for name, value in arguments.items():
            if not self.fields or fold(name) in self._field_spellings:
                _gather_named(name, value, found)
        return found


Objection = Callable[[Any], str | None]


_NO_TEXTS: frozenset[type] = frozenset({int, float, bool, type(None)})
_NONE: frozenset[type] = frozenset()


def _any_objection(values: Iterable[Any], objection: Objection, passed: frozenset[type]) -> bool:
    """Whether the guard objects to any of the scalars that `_gather_named` would name; types in `passed` are
    skipped.
    """
    for value in values:
        kind = type(value)
        if kind in passed:
            continue
        if kind is dict:
            if _any_objection(value, objection, passed) or _any_objection(value.values(), objection, passed):
                return True
        elif kind is list:
            if _any_objection(value, objection, passed):
                return True
        elif objection(value) is not None:
            return True
    return False


def _gather_named(path: str, value: Any, found: list[tuple[str, Any]]) -> None:
    kind = type(value)
    if kind is dict:
        for key, item in value.items():
            found.append((f"{path}.{key}", key))
            _gather_named(f"{path}.{key}", item, found)
    elif kind is list:
        for index, item in enumerate(value):
            _gather_named(f"{path}[{index}]", item, found)
    else:
        found.append((path, value))
