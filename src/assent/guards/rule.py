"""What is common to all guards: where they apply, and which values they look at?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from assent.core.call import Call
from assent.core.matching import Match

Denial = tuple[str, str]


class Rule(BaseModel):
    """A parameterised rule on arguments. `fields` names the arguments it looks at; none means all of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str]
    texts_alone: ClassVar[bool] = False
    """Whether it objects to nothing but texts where it looks at all arguments."""
    match: Match = Match()
    fields: tuple[str, ...] = Field(default=())

    @property
    def rule(self) -> str:
        return self.name

    def applies(self, call: Call) -> bool:
        return self.match.holds(call)

    def denies(self, arguments: Mapping[str, Any]) -> Denial | None:
        """The first objection. Most calls meet none, so paths are only made out once there is one."""
        if self.fields:
            looked_at = [arguments[name] for name in self.fields if name in arguments]
            met = _meets(looked_at, self.objection)
        else:
            look = _meets_in_texts if self.texts_alone else _meets
            met = look(arguments.values(), self.objection)
        return self._first_denial(arguments) if met else None

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
        """Every plain value of the fields looked at, with the path that names it. Keys of free-form objects count."""
        found: list[tuple[str, Any]] = []
        for name, value in arguments.items():
            if not self.fields or name in self.fields:
                _gather_named(name, value, found)
        return found


Objection = Callable[[Any], str | None]


def _meets(values: Iterable[Any], objection: Objection) -> bool:
    """Whether there is an objection to any of the plain values that `_gather_named` names."""
    for value in values:
        kind = type(value)
        if kind is dict:
            if _meets(value, objection) or _meets(value.values(), objection):
                return True
        elif kind is list:
            if _meets(value, objection):
                return True
        elif objection(value) is not None:
            return True
    return False


def _meets_in_texts(values: Iterable[Any], objection: Objection) -> bool:
    """The same where nothing but texts can be objected to."""
    for value in values:
        kind = type(value)
        if kind is int or kind is float or kind is bool:
            continue
        if kind is dict:
            if _meets_in_texts(value, objection) or _meets_in_texts(value.values(), objection):
                return True
        elif kind is list:
            if _meets_in_texts(value, objection):
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
